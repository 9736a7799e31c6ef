"""The end of a run: compare with the recorded state, sum up, take the legs away, strike the run off the index."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Dict, List, Optional

from . import clocks, legs
from .decide import is_up
from .files import sweep_private, unlink_quietly
from .journal import Record
from .ledger import Ledger
from .services import Services
from .state import Index, Run


def compare(services: Services, before: Dict[str, Dict[str, Any]], undone: List[Record]) -> Dict[str, Any]:
    """Hold every recorded unit against its state now.

    Rows for a person, what is not restored, what another hand changed.
    """
    rows, not_restored, left = [], [], []
    try:
        now = services.look(sorted(before)) if before else {}
    except OSError as error:
        return {
            "units": [],
            "left": [],
            "not_restored": [{"what": "units", "why": "could not be compared: %s" % error}],
        }
    by_hand = {r["what"]: r["why"] for r in undone if r.get("result") == "left"}
    for name in sorted(before):
        was, here = before[name], now[name]
        rows.append({"name": name, "before": words(was), "now": words(here)})
        if is_up(was) and not is_up(here):
            why = by_hand.get(name) or "is %s, was %s" % (words(here), words(was))
            not_restored.append({"what": name, "why": why})
        elif not is_up(was) and is_up(here):
            left.append({"what": name, "path": "", "why": "runs now, and did not before: somebody started it"})
        elif (was["load"], was["enabled"]) != (here["load"], here["enabled"]) and was["enabled"]:
            left.append(
                {
                    "what": name,
                    "path": "",
                    "why": "is %s/%s now, was %s/%s" % (here["load"], here["enabled"], was["load"], was["enabled"]),
                }
            )
    return {"units": rows, "left": left, "not_restored": not_restored}


def words(state: Dict[str, Any]) -> str:
    """A state in the way systemctl prints it."""
    return "%s (%s)" % (state["active"], state["sub"]) if state.get("sub") else str(state["active"])


def left_entry(record: Record) -> Optional[Dict[str, Any]]:
    """What was left for a person, from one outcome."""
    if record.get("result") != "left":
        return None
    return {
        "what": record["what"] if not record.get("path") else record.get("is", "marker"),
        "path": record.get("path", ""),
        "why": record["why"],
    }


def summary(
    ledger: Ledger, undone: List[Record], left: List[Dict[str, Any]], compared: Dict[str, Any]
) -> Dict[str, Any]:
    """The contract's ``cleanup`` object."""
    healthy = ledger.journal.last("note", "healthy")
    stopped = [r for r in undone if r.get("what") == "candidate"]
    # A unit that an earlier pass could not start and this one found running has two outcomes; the last one counts.
    return {
        "candidate_stopped": all(r["result"] == "stopped" for r in stopped),
        "candidate_words": "; ".join(r["why"] for r in stopped if r["why"]),
        "restored": [r["what"] for r in undone if r.get("result") == "restored"],
        "left": left,
        "markers_cleared": [r["path"] for r in undone if r.get("result") == "cleared" and r.get("path")],
        "production_as_before": not compared["not_restored"] and not compared["left"],
        "downtime_seconds": (healthy or {}).get("downtime_seconds", 0.0 if not healthy else None),
        "units": compared["units"],
    }


def message(run_id: str, verdict: Record) -> str:
    """One line for whoever is paged."""
    host = os.uname().nodename
    if verdict["step"] == "held":
        paths = ", ".join(entry["path"] for entry in verdict["foreign"])
        return (
            "stager on %s: production stays down: foreign marker %s (run %s); it is back as soon as the marker is gone"
            % (host, paths, run_id)
        )
    details = "; ".join(
        [*verdict.get("trouble", ()), *("%s %s" % (e["path"] or e["what"], e["why"]) for e in verdict.get("left", ()))]
    )
    return "stager on %s: %s (run %s, %s)%s" % (
        host,
        verdict["step"],
        run_id,
        verdict["reason"],
        ": " + details if details else "",
    )


def close(run: Run) -> None:
    """Take away what only an open run needs; idempotent. The journal, the lease of record and the output stay."""
    with contextlib.suppress(OSError):
        legs.disarm(run)
    for path in (run.at("ballast"), run.credential_path):
        with contextlib.suppress(OSError):
            unlink_quietly(path)
    sweep_private(run.credential_path)
    Index().remove(run.run_id)


def wait(run: Run, seconds: float) -> Optional[Record]:
    """Wait for a verdict (or for word that a foreign marker holds it) by whichever process restores."""
    end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
    ledger = Ledger(run)
    while clocks.boottime_ns() < end:
        final = ledger.refresh().verdict() or ledger.journal.last("verdict")
        if final:
            return final
        clocks.pause(0.03)
    return None
