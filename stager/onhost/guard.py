"""The guard: the process on the host that owns a run, and restores when its controller is gone.

It holds the host's lock from before the first change to after the last. Once a second, and at every wake-up, it looks:
lease, cap, the candidate's life and port, markers, production's units. Whatever ends the run, it runs the one restore.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from . import booted, clocks, fence, holding, lease, legs, locks, markers, ports, processes, restore
from .candidate import Candidate
from .closing import close
from .ended import DIED
from .faults import Fault, Held
from .files import read_json, write_json
from .launch import by_unit
from .ledger import Ledger
from .services import services_of
from .state import Index, Run

BOOT_PATIENCE = 60.0  # seconds that cron's start may come before the user's own manager
LOOK_S = 1.0  # seconds between two looks at what others may have changed


def main(run: Run) -> int:
    """Own the run until it is over."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)
    try:
        lock = locks.take_host(run.run_id)
        owner = dict(Ledger(run).opened["owner"], state=run.state)
        Index().add(run.run_id, owner)
        number = fence.grant(run)
        wake = os.open(
            run.wake_path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        )  # both ways: no end of file when a writer leaves
        write_json(run.at("guard.json"), {"process": processes.me(), "fence": number})
    except (Fault, OSError) as error:
        if not (isinstance(error, Held)):
            Index().remove(run.run_id)
        document = (
            error.document()
            if isinstance(error, Fault)
            else {"kind": "refused", "message": str(error), "reasons": [str(error)]}
        )
        write_json(run.at("guard.json"), {"error": document})
        return 1
    watch = Watch(run, wake)
    reason, by = watch.until_it_ends()
    if reason:
        restore.until_done(run, reason, by)
    else:
        close(run)
    os.close(lock)
    return 0


def leave(signum: int, frame: Optional[FrameType]) -> None:
    """A stop by somebody else: under systemd ``ExecStopPost=`` restores, elsewhere the second process does."""
    sys.exit(0)


class Watch:
    """What the guard knows between two looks."""

    def __init__(self, run: Run, wake: int) -> None:
        self.run = run
        self.wake = wake
        self.ledger = Ledger(run)
        self.spec: Dict[str, Any] = self.ledger.spec
        self.services = services_of(self.spec["production"])
        self.candidate: Optional[Candidate] = None
        self.pidfd: Optional[int] = None

    def until_it_ends(self) -> Tuple[str, str]:
        """Wait; returns why the run ends and by whom (``""`` for a run that is released with nothing to undo)."""
        while True:
            asked = self.wait()
            if asked:
                word, _, rest = asked.partition(" ")
                if word == "restore":
                    return rest or "asked for", "controller"
                if word == "release":
                    return "", "controller"
            try:
                reason = self.look()
            except Exception as error:  # a guard that cannot look guards nothing: the run ends, and it is on record why
                reason = "the guard failed: %s: %s" % (type(error).__name__, error)
            if reason:
                return reason, "guard"

    def wait(self) -> str:
        """Sleep until something happens, a look is due, or the lease is over; returns what a controller asked for."""
        left = (lease.expiry(lease.read(self.run)) - clocks.boottime_ns()) / clocks.SECOND
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.pidfd is not None:
            poll.register(self.pidfd, select.POLLIN)
        for fd, _ in poll.poll(max(0.0, min(LOOK_S, left)) * 1000 + 1):
            if fd == self.wake:
                words = os.read(self.wake, 4096).decode("utf-8", "replace").splitlines()
                return next((w for w in words if w.startswith(("restore", "release"))), "")
        return ""

    def look(self) -> str:
        """Why the run must end now; empty when it need not."""
        record = lease.read(self.run)
        now = clocks.boottime_ns()
        if record is None or now >= lease.expiry(record):
            return "deadline" if record and now >= record["cap"] else "lease over"
        self.ledger.refresh()
        return self.candidate_trouble() or self.foreign_trouble() or self.other_hand()

    def candidate_trouble(self) -> str:
        """The candidate died, or listens where production does."""
        pair = self.ledger.launched()
        if pair is None or pair[1] is None:
            return ""
        if self.candidate is None:
            self.candidate = Candidate(pair[0]["undo"], pair[1].get("born"))
            self.pidfd = processes.open_pidfd(self.candidate.main() or {"pid": 0})
        if not self.candidate.lives():
            return "%s: %s" % (DIED, self.candidate.epitaph())
        if not self.candidate.unit and clocks.boottime_ns() >= holding.candidate_ends(self.ledger):
            return "candidate's runtime is over"  # its unit would have ended it by itself
        taken = ports.listened_by(self.candidate.pids()) & set(self.spec["production"]["ports"])
        return "candidate listens on production's port %s" % sorted(taken)[0] if taken else ""

    def foreign_trouble(self) -> str:
        """A marker that is not ours appeared."""
        if not self.ledger.changes():
            return ""
        others = markers.in_the_way(self.spec, self.ledger.markers())
        return "foreign marker %s" % others[0]["path"] if others else ""

    def other_hand(self) -> str:
        """Somebody started a unit that we stopped: seen by its control group, then asked for."""
        ours = self.ledger.started_forward()
        down: List[Tuple[str, Dict[str, Any]]] = [
            (r["undo"]["unit"], dict(r["undo"]["before"], name=r["undo"]["unit"]))
            for r, done in self.ledger.open()
            if r["undo"]["op"] == "unit.start" and done is not None and r["undo"]["unit"] not in ours
        ]
        seen = [name for name, before in down if self.services.running(before)]
        up = (
            [name for name, state in self.services.look(seen).items() if state["active"] in ("active", "activating")]
            if seen
            else []
        )
        return "another hand started %s" % ", ".join(up) if up else ""


def after_guard(run: Run) -> int:
    """What runs when the guard's unit ends, however it ended.

    Nothing after an orderly end, nothing at shutdown (the boot leg's), else restore.
    """
    if booted.going_down():
        return 0
    if unopened(run):
        return 0
    restore.until_done(run, "the guard was ended", "guard's end")
    return 0


def unopened(run: Run) -> bool:
    """Whether there is nothing to do: no run, never taken, or over and closed."""
    if not run.exists() or "error" in (read_json(run.at("guard.json")) or {}):
        return True
    ledger = Ledger(run)
    return not any(entry["run_id"] == run.run_id for entry in Index().entries()) and not ledger.open()


def cap(run: Run) -> int:
    """The second leg.

    As a timer's service: restore now. As a process of its own: wait for the cap, or for the guard's end.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if not by_unit():
        write_json(run.at("cap.json"), {"process": processes.me()})
        while legs.guard_lives(run):
            if clocks.boottime_ns() >= (lease.read(run) or {"cap": 0})["cap"] + clocks.SECOND:
                break
            clocks.pause(0.3)
    if not unopened(run):
        restore.until_done(run, "deadline" if legs.guard_lives(run) else "the guard was ended", "cap")
    return 0


def boot(run: Run) -> int:
    """The third leg: the host was booted with the run open.

    Where the guard lives (the unit was started by hand) there is nothing to do.
    """
    if unopened(run):
        close(run)
        return 0
    if legs.guard_lives(run):
        return 0
    ledger = Ledger(run)
    if ledger.spec["production"]["manager"] == "systemd-user":
        booted.wait_for_user_manager(BOOT_PATIENCE)
    restore.until_done(run, "the guard was ended" if ledger.same_boot() else "the host was rebooted", "boot")
    return 0
