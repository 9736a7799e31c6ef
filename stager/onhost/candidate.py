"""The candidate while it runs: which processes are its, whether it lives, how it is taken down.

Its identity is in the journal before it does anything: under systemd a unit named by the run, with the InvocationID
that systemd gave it; elsewhere a keeper process of ours under which every descendant of the candidate stays (it is
their subreaper), and an environment entry with the run's id that finds them even when the keeper was killed.
"""

from __future__ import annotations

import signal
from typing import Any, Dict, List, Optional, Set

from . import cgroups, clocks, gpu, processes
from .ledger import Ledger
from .systemd import Systemd

NONCE = "STAGER_CANDIDATE_OF"
KILL_PATIENCE = 5.0  # seconds from SIGKILL to "stuck"


def unit_name(run_id: str) -> str:
    """The candidate's unit."""
    return "stager-candidate-%s.service" % run_id


def entry(run_id: str) -> bytes:
    """The environment entry that marks the candidate's processes."""
    return ("%s=%s" % (NONCE, run_id)).encode()


class Candidate:
    """The candidate of one run, by what its launch recorded (``undo`` of the intent, ``born`` of its done)."""

    def __init__(self, undo: Dict[str, Any], born: Optional[Dict[str, Any]]) -> None:
        self.undo = undo
        self.born = born or {}
        self.systemd = Systemd(user=bool(undo.get("user_manager")))

    @property
    def unit(self) -> str:
        """Its unit; empty without systemd."""
        return str(self.undo.get("unit") or "")

    def pids(self) -> Set[int]:
        """Every process of its tree now."""
        if self.unit:
            return cgroups.members(self.group())
        keeper = self.born.get("keeper")
        below = processes.descendants(int(keeper["pid"])) if keeper and processes.alive(keeper) else set()
        return below | processes.with_environment(entry(self.undo["run_id"])) - {int(keeper["pid"]) if keeper else 0}

    def group(self) -> str:
        """Its control group: as recorded, or as systemd tells it now (the crash may have come before the record)."""
        if self.born.get("cgroup"):
            return str(self.born["cgroup"])
        return self.systemd.units([self.unit])[self.unit].get("ControlGroup", "")

    def main(self) -> Optional[Dict[str, Any]]:
        """The identity of its main process, for a pidfd."""
        return self.born.get("main")

    def lives(self) -> bool:
        """Whether its main process runs; workers left without it are dead weight, not life."""
        if self.main():
            return processes.alive(self.main())
        return bool(self.pids())

    def epitaph(self) -> str:
        """How it ended, as far as anything still tells."""
        if self.unit:
            unit = self.systemd.units([self.unit])[self.unit]
            told = self.systemd.ctl("show", "-p", "ExecMainStatus", "--value", "--", self.unit).out.strip()
            return "%s, status %s" % (unit.get("Result", "unknown"), told or "unknown")
        return "its process is gone"

    def mine(self) -> bool:
        """Whether the unit of this name is still the one we started (InvocationID)."""
        if not self.unit or not self.born.get("invocation"):
            return True
        now = self.systemd.units([self.unit])[self.unit].get("InvocationID", "")
        return now in ("", self.born["invocation"])

    def stop(self, grace: float) -> List[Dict[str, Any]]:
        """Take the whole tree down: TERM, grace, KILL. Returns what is stuck (nothing when all is gone)."""
        return self.stop_unit(grace) if self.unit else self.stop_tree(grace)

    def stop_unit(self, grace: float) -> List[Dict[str, Any]]:
        """Stop its unit, then its control group whatever systemd says of the unit."""
        if not self.mine():
            return []
        group = self.group()
        self.systemd.ctl("stop", "--no-block", "--", self.unit)
        if not cgroups.wait_empty(group, grace):
            self.systemd.ctl("kill", "--kill-who=all", "--signal=KILL", "--", self.unit)
            cgroups.kill(group)
        if not cgroups.wait_empty(group, KILL_PATIENCE):
            left = cgroups.members(group)
            return processes.stuck(left) or [
                {"pid": pid, "command": processes.command_line(pid), "state": processes.state_of(pid)} for pid in left
            ]
        self.systemd.ctl("stop", "--", self.unit, timeout=10)
        self.systemd.ctl("reset-failed", "--", self.unit)
        return []

    def stop_tree(self, grace: float) -> List[Dict[str, Any]]:
        """TERM every process of the tree, wait, then KILL until none is left (new ones included)."""
        for pid in self.pids():
            processes.signal_by_identity(pid, signal.SIGTERM)
        if not self.wait_gone(grace, None):
            self.wait_gone(KILL_PATIENCE, signal.SIGKILL)
        left = self.pids()
        keeper = self.born.get("keeper")
        if keeper and not left:
            processes.send(keeper, signal.SIGKILL)
        return processes.stuck(left) or [
            {"pid": pid, "command": processes.command_line(pid), "state": processes.state_of(pid)} for pid in left
        ]

    def wait_gone(self, seconds: float, signum: Optional[int]) -> bool:
        """Wait until no process is left, signalling whatever is there at each look."""
        end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
        while True:
            left = self.pids()
            if not left:
                return True
            if clocks.boottime_ns() > end:
                return False
            if signum is not None:
                for pid in left:
                    processes.signal_by_identity(pid, signum)
            clocks.pause(0.02)

    def memory_back(self, seconds: float) -> Dict[str, int]:
        """Wait until the cards hold no more than before the launch. Returns what is still held, in MiB per card."""
        before = self.undo.get("device_memory")
        end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
        while before:
            held = gpu.still_held(before, gpu.used(gpu.cards()))
            if not held or clocks.boottime_ns() > end:
                return held
            clocks.pause(0.2)
        return {}


def launched(ledger: Ledger) -> Optional[Candidate]:
    """The candidate of an open run, if it was launched."""
    pair = ledger.launched()
    return Candidate(pair[0]["undo"], (pair[1] or {}).get("born")) if pair else None
