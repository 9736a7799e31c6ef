"""A run as its journal tells it: what it was asked to do, and what is not undone yet.

A change is an ``intent`` with its ``undo``, then a ``done`` with ``of`` naming the intent. An undo is an ``intent``
and a ``done`` with ``undoes`` naming the change. A change is open from its intent on (the act may have happened
without its ``done``).
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import booted, clocks, failpoints, fence
from .faults import Fault
from .journal import Journal, Record
from .locks import change_lock
from .state import Run

FINAL = ("restored", "restored, something left", "NOT restored", "promoted")


class Ledger:
    """One run's journal, read for meaning."""

    def __init__(self, run: Run, fearless: bool = False, number: int = 0) -> None:
        self.run = run
        self.journal: Journal = run.journal(fearless)
        self.number = number
        self.userspace = ""

    def refresh(self) -> "Ledger":
        """Read what came since."""
        self.journal.refresh()
        return self

    @property
    def spec(self) -> Dict[str, Any]:
        """What the run was asked to do: record 0's snapshot."""
        return dict(self.journal.all[0]["spec"])

    @property
    def opened(self) -> Record:
        """Record 0."""
        return self.journal.all[0]

    def write(self, kind: str, step: str, undo: Optional[Dict[str, Any]] = None, **fields: Any) -> Record:
        """Append and sync one record; the point after it is a boundary.

        Raises:
            Fault: it cannot be written, and this is no restore: then what it announces must not be done.
        """
        try:
            record = self.journal.append(kind, step, undo, self.number, **fields)
        except OSError as error:
            raise Fault(
                "The run's journal cannot be written any more (%s): nothing more is changed."
                % (error.strerror or error)
            ) from None
        failpoints.boundary(self.run.state, record)
        return record

    def changes(self) -> List[Tuple[Record, Optional[Record]]]:
        """Every change, oldest first, with its ``done`` (None when the crash came between)."""
        done = {r["of"]: r for r in self.journal.all if r["kind"] == "done" and r.get("of") is not None}
        return [(r, done.get(r["seq"])) for r in self.journal.all if r["kind"] == "intent" and r.get("undo")]

    def open(self) -> List[Tuple[Record, Optional[Record]]]:
        """The changes that are not undone, newest first."""
        undone = {r["undoes"] for r in self.journal.all if r["kind"] == "done" and r.get("undoes") is not None}
        return [pair for pair in reversed(self.changes()) if pair[0]["seq"] not in undone]

    def undoing(self, seq: int) -> Optional[Record]:
        """The newest intent to undo a change: what runs since then is our doing, until its ``done``."""
        for record in reversed(self.journal.all):
            if record["kind"] == "intent" and record.get("undoes") == seq:
                return record
        return None

    def started_forward(self) -> List[str]:
        """The units that a promotion started on the new build: whatever runs of them is our doing."""
        return [r["undo"]["unit"] for r, _ in self.changes() if r["undo"]["op"] == "unit.stop"]

    def undone(self) -> List[Record]:
        """The outcomes of what was undone, oldest first."""
        return [r for r in self.journal.all if r["kind"] == "done" and r.get("undoes") is not None]

    def launched(self) -> Optional[Tuple[Record, Optional[Record]]]:
        """The candidate's launch, if there was one and it is not undone."""
        for pair in self.open():
            if pair[0]["undo"]["op"] == "candidate.stop":
                return pair
        return None

    def markers(self) -> Dict[str, Dict[str, Any]]:
        """Our markers by path, as recorded when we made them, cleared or not."""
        return {
            r["undo"]["path"]: r["undo"]["identity"] for r, _ in self.changes() if r["undo"]["op"] == "marker.clear"
        }

    def verdict(self) -> Optional[Record]:
        """The verdict on the run's end, if it has come to one."""
        record = self.journal.last("verdict")
        return record if record and record["step"] in FINAL else None

    def snapshot(self) -> Dict[str, Dict[str, Any]]:
        """The recorded state of every unit before the first change."""
        record = self.journal.last("note", "snapshot")
        return dict(record["units"]) if record else {}

    def same_boot(self, record: Optional[Record] = None) -> bool:
        """Whether a record (by default the first one) was written since this host last booted, soft reboots included.

        A controller's changes are all of one userspace: nothing of it outlives that, as this process does not outlive
        ours. An answer that does not come counts as no reboot; the kernel's boot id needs none.
        """
        if (record or self.opened)["boot_id"] != clocks.boot_id():
            return False
        then = self.opened.get("userspace")
        if then and not self.userspace:
            self.userspace = booted.userspace()
        return not then or self.userspace in ("", then)


@contextlib.contextmanager
def change(run: Run, number: int) -> Iterator[Ledger]:
    """One change by a controller: under the change lock, with the fence looked at inside it.

    Raises:
        Fenced: the run went on without the caller.
    """
    with change_lock(run):
        fence.check(run, number)
        yield Ledger(run, number=number)
