"""The steps of a restore, each on its own: what is open of a kind is undone, and its outcome kept.

Which come when is said in ``restore`` and, for a promotion, in ``unswitch``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set

from . import answers, booted, clocks, closing, decide, markers, notify, preparing, undo
from .journal import Record
from .ledger import Ledger
from .locks import Hold
from .services import Services, names_of, services_of
from .undo import Outcome, Pair

UNIT_TIMEOUT = 120.0  # seconds for systemd to say that a start is done, where health has no longer time


class ShuttingDown(Exception):
    """The host goes down: what is left is the boot leg's, which runs the same restore."""


def service_names(ledger: Ledger) -> Set[str]:
    """Production's services: those of the playbook, and those that were taken down."""
    stopped = (r["undo"] for r, _ in ledger.changes() if r["undo"]["op"] == "unit.start")
    return set(names_of(ledger.spec["production"]["services"])) | {u["unit"] for u in stopped if u["role"] == "service"}


def holding_down(ledger: Ledger) -> List[Dict[str, Any]]:
    """Markers that are not ours and hold production down, also such as took the place of one of ours."""
    ours = ledger.markers()
    return markers.in_the_way(ledger.spec, ours) + markers.taken_over(ledger.spec, ours, service_names(ledger))


class Steps:
    """The steps of one pass; what they found and did is in ``outcomes`` and ``trouble``."""

    def __init__(self, ledger: Ledger, hold: Hold, by: str, patient: bool = False) -> None:
        self.ledger = ledger
        self.hold = hold
        self.by = by
        self.patient = patient
        self.spec = ledger.spec
        self.services: Services = services_of(self.spec["production"])
        self.outcomes: List[Outcome] = []
        self.trouble: List[str] = []

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
        """The candidate goes first, and what made it: nothing else is touched while it may hold the card."""
        preparing.end_all(self.ledger.run.run_id)
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
        services = service_names(self.ledger)
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
        if trouble and booted.going_down():
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
