"""The steps of a run, each with how it is undone: what `plan` prints, `doctor` checks and `stage` follows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlannedStep:
    """One step: its name, what it does, how it is undone (empty: it changes nothing)."""

    name: str
    does: str
    undo: str = ""


def plan_steps(spec: Mapping[str, Any], *, with_candidate: bool = True, tree_whole: bool = True) -> list[PlannedStep]:
    """Return the steps of a run in order.

    Args:
        spec: what the host is asked to do.
        with_candidate: False for a rehearsal.
        tree_whole: whether the release is on the host already.
    """
    production, candidate = spec["production"], spec["candidate"]
    steps = [
        PlannedStep("open", "guard started; it takes the host's lock and reserves the journal's space", "released"),
        PlannedStep("facts", "units, ports, markers, health, device memory, in one exchange"),
        PlannedStep("preflight", "refuse with every reason at once; nothing is stopped before"),
    ]
    if with_candidate:
        if candidate["tree"] and not tree_whole:
            steps.append(
                PlannedStep(
                    "upload", f"release {candidate['tree'][:12]} laid on the host", "removed unless it became whole"
                )
            )
        commands = "; ".join(" ".join(argv) for argv in candidate["prepare"])
        steps.append(
            PlannedStep("prepare", f"{commands or 'nothing to prepare'}; tree read-only and digested: the build's name")
        )
    steps.append(PlannedStep("arm", "every leg of the guard that holds here armed and read back", "disarmed"))
    steps.append(PlannedStep("drain", _drain(production["drain"])))
    steps += [
        PlannedStep("marker", f"raise {m['path']}", "cleared if mtime, size, inode and digest are ours")
        for m in spec["markers"]
    ]
    steps += [
        PlannedStep("stop", f"stop watchdog {name}", "started after production is healthy")
        for name in production["watchdog_names"]
    ]
    steps += [
        PlannedStep("stop", f"stop service {name}", f"started; {_healthy(production['healthy'])}")
        for name in production["service_names"]
    ]
    if with_candidate:
        port = candidate["port"] or "a free port"
        steps.append(
            PlannedStep("launch", f"{' '.join(candidate['argv'])} on {candidate['bind']}:{port}", _stop(candidate))
        )
        steps.append(
            PlannedStep(
                "ready",
                f"a real token within {candidate['ready']['timeout']:g}s, from a listener that is the candidate's own",
            )
        )
    return steps


def undo_order(spec: Mapping[str, Any], *, with_candidate: bool = True) -> list[str]:
    """Return what the one restore does, in order, whoever calls for it."""
    production = spec["production"]
    obeyed = [m["path"] for m in spec["markers"] if set(m["obeyed_by"]) & set(production["service_names"])]
    later = [m["path"] for m in spec["markers"] if m["path"] not in obeyed]
    steps = [f"candidate {_stop(spec['candidate'])}; device memory back"] if with_candidate else []
    steps += [f"clear {path} (a service obeys it)" for path in obeyed]
    steps += [f"start {', '.join(reversed(production['service_names']))}"] if production["service_names"] else []
    steps += [f"wait: {_healthy(production['healthy'])}"] if production["service_names"] else []
    steps += [f"start {', '.join(production['watchdog_names'])}"] if production["watchdog_names"] else []
    steps += [f"clear {path}" for path in later]
    return [*steps, "compare with the recorded state; disarm; release"]


def _drain(drain: Mapping[str, Any] | None) -> str:
    if not drain:
        return "no drain asked for"
    what = drain["gauge"] or "accepted connections on production's ports"
    return f"wait up to {drain['timeout']:g}s until {what} is 0; otherwise exit 4, nothing stopped"


def _healthy(check: Mapping[str, Any] | None) -> str:
    return f"{check['n']} of {check['of']} real answers within {check['within']:g}s" if check else "units run"


def _stop(candidate: Mapping[str, Any]) -> str:
    return f"stopped: TERM, {candidate['grace']:g}s, KILL, the whole tree"
