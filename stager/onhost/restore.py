"""The one restore: cleanup, Ctrl-C, lease, deadline, the candidate's death, boot all run this.

It undoes what the journal says is open, newest first, and ends in a verdict. It is idempotent: run twice, or by two
processes at once, it changes nothing more. It needs no new space on disk, and no controller.

Order: candidate, its device memory; markers that a service obeys; services; healthy; watchdogs; other markers; the
rest; verify.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from typing import Any, Dict, List, Optional

from . import answers, clocks, closing, decide, fence, markers, notify, promotions, switch, systemd, undo
from .candidate import Candidate
from .journal import Record
from .ledger import Ledger
from .locks import Hold, change_lock
from .services import Services, names_of, services_of
from .state import Run
from .undo import Outcome, Pair

TRIES = 20  # patient passes, 0.3 s to 5 s apart: about 80 s in which the host may come back to its senses
UNIT_TIMEOUT = 120.0  # seconds for systemd to say that a start is done, where health has no longer time


class ShuttingDown(Exception):
    """The host goes down: what is left is the boot leg's, which runs the same restore."""


def until_done(run: Run, reason: str, by: str) -> Record:
    """Restore, whatever it takes.

    Where a foreign marker holds production down, wait for it to go and go on. Where the host cannot be asked (a manager
    that re-executes itself, a program that breaks), try again, for a minute and more, before giving a verdict on it.

    Raises:
        SystemExit: the host is shutting down.
    """
    told, tries = False, 0
    while True:
        try:
            verdict = once(run, reason, by, patient=tries < TRIES)
        except ShuttingDown:
            sys.exit(0)
        except Exception as error:  # nothing may end a restore but its verdict
            traceback.print_exc()
            if tries > 2 * TRIES:
                raise
            note_trouble(run, error)
            tries += 1
            clocks.pause(min(5.0, 0.3 * tries))
            continue
        if verdict["step"] != "held":
            return verdict
        if not told and by != "controller":
            notify.tell(Ledger(run).spec, closing.message(run.run_id, verdict))
            told = True
        wait_for_foreign(Ledger(run).spec)


def wait_for_foreign(spec: Dict[str, Any]) -> None:
    """Wait until no foreign marker is in the way; a shutdown is not held up by it."""
    looks = 0
    while foreign(spec, {}):
        clocks.pause(0.2)
        looks += 1
        if looks % 10 == 0 and going_down():
            sys.exit(0)


def going_down() -> bool:
    """Whether systemd is shutting this host down: it refuses starts then, and no verdict would be true."""
    return systemd.is_pid_one() and systemd.state_of_system() == "stopping"


def note_trouble(run: Run, error: Exception) -> None:
    """Put on record that a pass of the restore broke, so that the next one's reader knows."""
    with contextlib.suppress(Exception), change_lock(run, patience=5.0):
        Ledger(run, fearless=True).write("note", "restore.broke", why="%s: %s" % (type(error).__name__, error))


def once(run: Run, reason: str, by: str, patient: bool = False) -> Record:
    """One pass of the restore. The verdict's step is one of ``ledger.FINAL``, or ``held``.

    ``patient``: what cannot be asked for now is raised, to be tried again, and not judged.

    Raises:
        ShuttingDown: the host goes down, and production could not be brought back before.
    """
    with change_lock(run, usurp=True) as hold:
        hold.extend(10)  # another restore waits for this one as long as it gets on
        ledger = Ledger(run, fearless=True)
        known = ledger.verdict()
        if known and not (known["code"] == 9 and by == "controller"):  # a person may try again
            closing.close(run)
            return known
        with contextlib.suppress(OSError):  # a state folder turned read-only: late changes fail there by themselves
            ledger.number = fence.grant(run)
        ledger.write("note", "restore", reason=reason, by=by)
        record = Restore(ledger, hold, by, patient).carry_out(reason)
        if record["step"] != "held":
            ledger.journal.give_back()
    if record["step"] != "held":
        closing.close(run)
    return record


def foreign(spec: Dict[str, Any], ours: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Foreign markers in the way: those that match ``respect`` and stand where we made none of our own."""
    own_paths = {marker["path"] for marker in spec["markers"]} | set(ours)
    return [entry for entry in markers.foreign(spec["respect"], ours) if entry["path"] not in own_paths]


class Restore:
    """One pass: what it found and did is in ``outcomes`` and ``trouble``."""

    def __init__(self, ledger: Ledger, hold: Hold, by: str, patient: bool = False) -> None:
        self.ledger = ledger
        self.hold = hold
        self.by = by
        self.patient = patient
        self.spec = ledger.spec
        self.services: Services = services_of(self.spec["production"])
        self.outcomes: List[Outcome] = []
        self.trouble: List[str] = []

    def carry_out(self, reason: str) -> Record:
        """All of it, in order."""
        confirmed = self.ledger.journal.last("note", "confirmed")
        if confirmed:
            return self.go_forward(reason, confirmed)
        self.candidate()
        self.switch_back()
        others = foreign(self.spec, self.ledger.markers())
        if others and self.spec["on_foreign"] == "hold" and self.units("service"):
            return self.ledger.write("verdict", "held", code=9, reason=reason, foreign=others)
        self.markers(before_services=True)
        self.start("service", self.room())
        self.healthy()
        self.start("watchdog", 30.0)
        self.markers(before_services=False)
        self.rest()
        return self.end(reason, others)

    def go_forward(self, reason: str, confirmed: Record) -> Record:
        """A promotion that was confirmed: what was switched stays, watchdogs and markers come back.

        Services are up, unless the crash that this restore follows took them down.
        """
        run = self.ledger.run
        try:
            if not promotions.remember(run, confirmed["paths"]):
                self.trouble.append("the promotion's record is gone: there is no rollback")
            promotions.sweep(run.state)
        except OSError as error:
            self.trouble.append("the promotion's record cannot be kept, there is no rollback: %s" % error)
        undo.supersede(self.ledger, self.open("unit.stop") + self.open("switch.back"))
        if self.start("service", self.room()):
            self.healthy()
        self.start("watchdog", 30.0)
        self.markers(before_services=False)
        self.rest()
        return self.end(reason, foreign(self.spec, self.ledger.markers()), promoted=True)

    def switch_back(self) -> None:
        """A promotion that was not confirmed: stop what runs on the new build, put back what was switched."""
        started, switched = self.open("unit.stop"), self.open("switch.back")
        if not started and not switched:
            return
        self.hold.extend(UNIT_TIMEOUT + 60)
        for outcome in undo.stop_promoted(self.ledger, self.services, started, UNIT_TIMEOUT):
            self.note(outcome)
        self.stop_booted([pair[0]["undo"] for pair in switched])
        for pair in switched:
            self.note(undo.switch_back(self.ledger, pair))
        why = switch.reload_units([pair[0]["undo"] for pair in switched])
        if why:
            self.trouble.append("systemd could not read its units again: %s" % why)

    def stop_booted(self, switched: List[Dict[str, Any]]) -> None:
        """After a reboot in mid-switch the host has started production by itself, on the new build: stop it."""
        if self.ledger.same_boot() or not any(switch.stands(entry) for entry in switched):
            return
        names = [pair[0]["undo"]["unit"] for pair in self.units("service")]
        self.ledger.write("note", "stop what was booted on the new build", units=names)
        failed = self.services.stop(names, UNIT_TIMEOUT) if names else {}
        self.trouble += ["%s was booted on the new build: %s" % (name, why) for name, why in failed.items()]

    def open(self, op: str) -> List[Pair]:
        """The open changes of a kind, newest first."""
        return [pair for pair in self.ledger.refresh().open() if pair[0]["undo"]["op"] == op]

    def units(self, role: str) -> List[Pair]:
        """The open units of a role."""
        return [pair for pair in self.open("unit.start") if pair[0]["undo"]["role"] == role]

    def touched(self) -> bool:
        """Whether the run took anything of production down, switched it, or launched its candidate."""
        return any(r["undo"]["op"] in ("unit.start", "switch.back", "candidate.stop") for r, _ in self.ledger.changes())

    def room(self) -> float:
        """Seconds that production has to become healthy."""
        check = self.spec["production"]["healthy"]
        return float(check["within"]) if check else UNIT_TIMEOUT

    def candidate(self) -> None:
        """The candidate goes first: nothing else is touched while it may hold the card."""
        for pair in self.open("candidate.stop"):
            self.hold.extend(float(pair[0]["undo"]["grace"]) + undo.MEMORY_PATIENCE + 30)
            try:
                self.note(undo.stop_candidate(self.ledger, pair))
            except OSError as error:
                if self.patient:
                    raise
                self.trouble.append("the candidate could not be asked for: %s" % error)

    def markers(self, before_services: bool) -> None:
        """Clear our markers: before production starts only those that a service of its obeys."""
        obeyed_by = {marker["path"]: set(marker.get("obeyed_by", ())) for marker in self.spec["markers"]}
        services = set(names_of(self.spec["production"]["services"])) | {
            p[0]["undo"]["unit"] for p in self.units("service")
        }
        for pair in self.open("marker.clear"):
            if not before_services or obeyed_by.get(pair[0]["undo"]["path"], set()) & services:
                self.hold.extend(20)
                self.note(undo.clear_marker(self.ledger, pair))

    def start(self, role: str, timeout: float) -> bool:
        """Bring the units of a role back; whether any had to be started."""
        pairs = self.units(role)
        begun = len(self.ledger.journal.all)
        self.hold.extend(2 * timeout + 60)
        try:
            outcomes = undo.start_units(self.ledger, self.services, pairs, timeout)
        except OSError as error:
            if self.patient:
                raise
            names = ", ".join(p[0]["undo"]["unit"] for p in pairs)
            self.trouble.append("%s could not be asked for: %s" % (names, error))
            return False
        for outcome in outcomes:
            self.note(outcome)
        return any(r["kind"] == "intent" and r["step"] == "unit.start" for r in self.ledger.journal.all[begun:])

    def healthy(self) -> None:
        """Wait for N of M real answers, where production served before and we took it down."""
        check = self.spec["production"]["healthy"]
        stopped = [
            r for r, _ in self.ledger.changes() if r["undo"]["op"] == "unit.start" and r["undo"]["role"] == "service"
        ]
        begun = next(r["seq"] for r in self.ledger.journal.all if r["step"] == "restore")
        seen = self.ledger.journal.last("note", "healthy")  # a promotion's own proof, from before, says nothing here
        if not stopped or (seen and seen["seq"] > begun and seen.get("good_enough")):
            return
        ok = True
        told: Dict[str, Any] = {}
        if check:
            self.hold.extend(float(check["within"]) + 60)
            ok, told = answers.wait_healthy(check, float(check["within"]))
        down_ns = (
            clocks.boottime_ns() - stopped[0]["boottime_ns"] if stopped[0]["boot_id"] == clocks.boot_id() else None
        )
        self.ledger.write(
            "note",
            "healthy",
            good_enough=ok,
            downtime_seconds=None if down_ns is None else round(down_ns / clocks.SECOND, 3),
            **told,
        )
        if ok and check:
            self.warm(check)
        if not ok:
            self.trouble.append(
                "production did not become healthy within %gs: %s" % (check["within"], told["last_reason"])
            )

    def warm(self, check: Dict[str, Any]) -> None:
        """Have the models loaded again that were: one real token each. One that does not answer is only noted."""
        within = float(check["within"])
        for model in self.spec["production"].get("warm", ()):
            self.hold.extend(within + 60)
            why = answers.one_token(dict(check, body=dict(check["body"], model=model), timeout=within))
            self.ledger.write("note", "warm", model=model, why=why)

    def rest(self) -> None:
        """Whatever else the run laid down; a marker's private file may be there with no record of it yet."""
        for marker in self.spec["markers"]:
            if marker["path"] not in self.ledger.markers():
                markers.sweep(marker["path"], self.ledger.run.run_id)
        for op, function in undo.SINGLE.items():
            for pair in self.open(op):
                self.hold.extend(20)
                self.note(function(self.ledger, pair))

    def note(self, outcome: Outcome) -> None:
        """Keep an outcome."""
        self.outcomes.append(outcome)
        if outcome["result"] in ("failed", "stuck"):
            self.trouble.append("%s: %s" % (outcome["what"], outcome["why"]))

    def end(self, reason: str, others: List[Dict[str, Any]], promoted: bool = False) -> Record:
        """Verify against the recorded state, write the verdict, tell a person where nobody else does."""
        undone = self.ledger.refresh().undone()
        compared = closing.compare(self.services, self.ledger.snapshot(), undone)
        left = [entry for entry in map(closing.left_entry, undone) if entry]
        if self.touched():  # otherwise they were in our way, and we are in nobody's
            left += [{"what": "foreign marker", "path": entry["path"], "why": entry["why"]} for entry in others]
        left += [entry for entry in compared["left"] if entry["what"] not in {one["what"] for one in left}]
        unit_trouble = [entry["what"] + ": " + entry["why"] for entry in compared["not_restored"]]
        trouble = self.trouble + [text for text in unit_trouble if text.split(":")[0] not in "".join(self.trouble)]
        if trouble and going_down():
            raise ShuttingDown
        words, code = decide.verdict(len(trouble), len(left))
        record = self.ledger.write(
            "verdict",
            "promoted" if promoted else words,
            code=code,
            reason=reason,
            by=self.by,
            trouble=trouble,
            **closing.summary(self.ledger, undone, left, compared),
        )
        if self.by != "controller" or code == 9:
            failed = notify.tell(self.spec, closing.message(self.ledger.run.run_id, record))
            if failed:
                self.ledger.write("note", "notify.failed", why=failed)
        return record


def candidate_of(ledger: Ledger) -> Optional[Candidate]:
    """The candidate of an open run, if it was launched."""
    pair = ledger.launched()
    return Candidate(pair[0]["undo"], (pair[1] or {}).get("born")) if pair else None
