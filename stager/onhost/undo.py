"""How each kind of change is undone. Every function is idempotent and never raises for what it finds on the host."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import clocks, decide, files, journal, markers, switch, tree
from .candidate import Candidate
from .journal import Record
from .ledger import Ledger
from .services import Services

Pair = Tuple[Record, Optional[Record]]
Outcome = Dict[str, Any]
MEMORY_PATIENCE = 60.0  # seconds for the cards to give memory back; then production is started anyway, and it is said


def record_outcome(ledger: Ledger, change: Record, outcome: Outcome) -> Outcome:
    """Write how one undo ended. An outcome without ``open`` closes the change for good."""
    fields = dict(outcome)
    if fields.pop("open", False):
        ledger.write("note", "undo.open", about=change["seq"], **fields)
    else:
        ledger.write("done", change["undo"]["op"], undoes=change["seq"], **fields)
    return outcome


def stop_candidate(ledger: Ledger, pair: Pair) -> Outcome:
    """Take the candidate's whole tree down, wait for its device memory, remove its folders."""
    change, done = pair
    undo = change["undo"]
    what = Candidate(undo, (done or {}).get("born"))
    ledger.write("intent", "candidate.stop", undoes=change["seq"], pids=sorted(what.pids()))
    stuck = what.stop(float(undo["grace"])) if change["boot_id"] == clocks.boot_id() else []
    held = {} if stuck else what.memory_back(MEMORY_PATIENCE)
    if not stuck:
        run_id = undo["run_id"]
        for folder in (
            ledger.run.home,
            "/var/lib/private/stager-candidate/" + run_id,
            "/var/lib/stager-candidate/" + run_id,
        ):
            with contextlib.suppress(OSError):
                files.remove_tree(folder)
        for parent in ("/var/lib/private/stager-candidate", "/var/lib/stager-candidate"):
            with contextlib.suppress(OSError):
                os.rmdir(parent)
    outcome: Outcome = {"what": "candidate", "result": "stuck" if stuck else "stopped", "why": ""}
    if stuck:
        outcome["why"] = "processes that no signal ends: %s" % ", ".join(
            "%(pid)s %(command)s (state %(state)s)" % p for p in stuck
        )
        outcome["stuck"] = stuck
    elif held:
        outcome["why"] = "device memory did not come back in %.0f s: %s" % (MEMORY_PATIENCE, held)
        outcome["memory_held_mib"] = held
    return record_outcome(ledger, change, outcome)


def start_units(ledger: Ledger, services: Services, pairs: List[Pair], timeout: float) -> List[Outcome]:
    """Bring units back that this run stopped, together; another hand's change wins."""
    if not pairs:
        return []
    names = [change["undo"]["unit"] for change, _ in pairs]
    now = settle(services, names, timeout)
    obeyed = {unit for marker in ledger.spec["markers"] for unit in marker.get("obeyed_by", ())}
    outcomes: List[Outcome] = []
    starting: List[Pair] = []
    for change, done in pairs:
        name = change["undo"]["unit"]
        choice = decide.for_unit(
            now[name],
            change["undo"]["before"],
            (done or {}).get("after"),
            started_by_us=ledger.undoing(change["seq"]) is not None or name in ledger.started_forward(),
            same_boot=ledger.same_boot(change),
            obeys_our_marker=name in obeyed,
        )
        if choice.action == "start":
            starting.append((change, done))
        else:
            result = "restored" if choice.action == "up" else "left"
            outcomes.append(
                record_outcome(ledger, change, {"what": name, "result": result, "why": choice.why, "after": now[name]})
            )
    for change, _ in starting:
        ledger.write("intent", "unit.start", undoes=change["seq"], unit=change["undo"]["unit"])
    for alone in (False, True):
        some = [pair for pair in starting if bool(pair[0]["undo"].get("alone")) is alone]
        if some:
            outcomes += start_together(ledger, services, some, timeout, alone)
    return outcomes


def start_together(ledger: Ledger, services: Services, pairs: List[Pair], timeout: float, alone: bool) -> List[Outcome]:
    """Start some units with one command and record each outcome; one that stays down stays open for the next try."""
    names = [change["undo"]["unit"] for change, _ in pairs]
    failed = services.start(names, timeout, alone)
    after = services.look(names)
    return [
        record_outcome(
            ledger,
            change,
            {
                "what": name,
                "result": "failed" if name in failed else "restored",
                "why": failed.get(name, ""),
                "after": after[name],
                "open": name in failed,
            },
        )
        for (change, _), name in zip(pairs, names)
    ]


def settle(services: Services, names: List[str], timeout: float) -> Dict[str, Any]:
    """The units' states once none is in transition any more, or the time is over."""
    end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
    while True:
        now = services.look(names)
        if (
            all(state["active"] not in ("activating", "deactivating") for state in now.values())
            or clocks.boottime_ns() > end
        ):
            return now
        if all(state["active"] != "activating" for state in now.values()) and clocks.boottime_ns() > end - int(
            timeout * clocks.SECOND / 2
        ):
            return now  # a stop that does not end: the start's own ladder takes it from here
        clocks.pause(0.1)


def clear_marker(ledger: Ledger, pair: Pair) -> Outcome:
    """Clear one marker of ours, if it is exactly that."""
    change, done = pair
    undo = change["undo"]
    path, identity = undo["path"], undo["identity"]
    tried = (
        ledger.undoing(change["seq"]) is not None
    )  # an earlier restore may have cleared it and died before saying so
    why = ""
    try:
        if done is None and not os.path.lexists(path):
            markers.unprepared(path, identity, ledger.run.run_id)  # the crash came before it was linked into place
        else:
            ledger.write("intent", "marker.clear", undoes=change["seq"], path=path)
            why = markers.clear(path, identity, ledger.run.run_id)
    except OSError as error:
        why = "could not be cleared: %s" % error
    swept = markers.swept_by_reboot(not ledger.same_boot(change), journal.file_system_type(path))
    if why.startswith("is gone") and (swept or tried):
        why = ""
    if done is None and why.startswith("was") and not same_file(path, identity):
        why = ""  # never linked: whatever stands there was there first
    return record_outcome(
        ledger, change, {"what": path, "result": "left" if why else "cleared", "why": why, "path": path}
    )


def same_file(path: str, identity: Dict[str, Any]) -> bool:
    """Whether the inode at a path is the one we made."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return (info.st_ino, info.st_dev) == (identity["ino"], identity["dev"])


def discard_tree(ledger: Ledger, pair: Pair) -> Outcome:
    """Remove a release that never became whole."""
    change, _ = pair
    with contextlib.suppress(OSError):
        tree.Tree(ledger.run.state, change["undo"]["key"]).discard()
    return record_outcome(ledger, change, {"what": "release", "result": "cleared", "why": ""})


def stop_promoted(ledger: Ledger, services: Services, pairs: List[Pair], timeout: float) -> List[Outcome]:
    """Stop what a promotion started on the new build, before what it ran from is switched back."""
    names = [change["undo"]["unit"] for change, _ in pairs]
    for change, _ in pairs:
        ledger.write("intent", "unit.stop", undoes=change["seq"], unit=change["undo"]["unit"])
    failed = services.stop(names, timeout) if names else {}
    outcomes = []
    for change, _ in pairs:
        name = change["undo"]["unit"]
        result = {"what": name + " on the new build", "result": "failed" if name in failed else "stopped"}
        outcomes.append(record_outcome(ledger, change, dict(result, why=failed.get(name, ""))))
    return outcomes


def switch_back(ledger: Ledger, pair: Pair) -> Outcome:
    """Put back what stood at a path before the switch, unless somebody else changed it since."""
    change, _ = pair
    undo = change["undo"]
    path, why, result = undo["path"], "", "restored"
    ledger.write("intent", "switch.back", undoes=change["seq"], path=path)
    try:
        if not switch.take_back(ledger.run.state, path, undo["before"], undo["after"], ledger.run.run_id):
            why, result = "was changed by another hand since the switch", "left"
    except OSError as error:
        why, result = str(error), "failed"
    outcome: Outcome = {"what": path, "result": result, "why": why, "path": path, "is": "switched file"}
    return record_outcome(ledger, change, dict(outcome, open=result == "failed"))


def supersede(ledger: Ledger, pairs: List[Pair]) -> None:
    """Close changes that a confirmed promotion made the state to keep."""
    for change, _ in pairs:
        undo = change["undo"]
        if undo["op"] == "switch.back":
            with contextlib.suppress(OSError):  # what waited beside it is of no use any more
                switch.settle(undo["path"], ledger.run.run_id)
        record_outcome(ledger, change, {"what": undo.get("unit") or undo["path"], "result": "promoted", "why": ""})


#: Undo operations besides unit.start and candidate.stop, each on its own.
SINGLE: Dict[str, Callable[[Ledger, Pair], Outcome]] = {"marker.clear": clear_marker, "tree.discard": discard_tree}
