"""How each fault is made, at the moment when the process at the boundary stands still."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

from tests.lab.faults.bench import LEASE, Bench
from tests.lab.faults.cases import Case, Fault
from tests.lab.faults.controller import Controller
from tests.lab.rig import clock
from tests.lab.rig.nspawn import until

HOLD = 5.0  # seconds a staged candidate is held where the fault comes after staging
ROOM = 25.0  # seconds beyond lease or hold until "never" (two noisy cores run three hosts)
RELOADS = "while :; do systemctl daemon-reload; sleep 1; done"


class Breaking:
    """A case under way, as far as breaking something goes."""

    def __init__(self, bench: Bench, case: Case) -> None:
        self.bench = bench
        self.case = case
        self.controller: Controller | None = None
        self.hit: dict[str, Any] = {}
        self.run_id = ""
        self.rebooted = False
        self.reloads: subprocess.Popen[bytes] | None = None

    def unarmed(self) -> bool:
        """Whether the power was cut before there was a boot leg, and there was nothing to restore."""
        armed = any(r["step"] == "armed" for r in self.bench.journal(self.run_id))
        return self.case.fault is Fault.POWER_CUT and not armed

    def go_on(self) -> None:
        """Let the process at the boundary go on, as it would have."""
        if self.hit:
            self.bench.kill(signal.SIGCONT, int(self.hit["pid"]))

    def inject(self) -> None:
        """Break what the case says."""
        getattr(self, str(self.case.fault).replace("-", "_").replace("+1h", "_forward").replace("_1h", "_back"))()

    def controller_killed(self) -> None:
        self.controller_signal(signal.SIGKILL)
        self.go_on()

    def controller_stopped(self) -> None:
        self.controller_signal(signal.SIGSTOP)
        self.go_on()
        if self.case.boundary.record == "note open":  # its guard is still to come
            until(self.bench.open_runs, "the guard to hold the host", 20)
        self.bench.wait_free(LEASE + HOLD + ROOM)
        self.controller_signal(signal.SIGCONT)
        assert self.controller
        code = self.controller.wait(30)
        told = self.controller.words()
        if code == 0 and self.case.boundary.verb not in ("cleanup", "extend") and not self.staged_before():
            raise RuntimeError(f"the controller woke after its lease and says all is well:\n{told}")

    def serve_killed(self) -> None:
        bench = self.bench
        at_boundary = int(self.hit.get("pid", 0))
        ours = bench.pids_of("stager.* serve ")
        bench.kill(signal.SIGKILL, *ours)
        if at_boundary not in ours:
            self.go_on()

    def guard_killed(self) -> None:
        self.bench.kill(signal.SIGKILL, self.bench.guard(self.run_id))
        self.go_on()

    def sshd_killed(self) -> None:
        bench = self.bench
        bench.kill(signal.SIGKILL, *map(int, bench.machine.sh("pgrep", "-x", "sshd(-session)?").stdout.split()))
        self.go_on()

    def network_cut(self) -> None:
        self.bench.machine.network.silence()
        self.go_on()

    def power_cut(self) -> None:
        machine = self.bench.machine
        machine.cut_power(forget_unsynced=True)
        self.controller_signal(signal.SIGKILL)
        self.rebooted = True
        machine.boot()

    def daemon_reloads(self) -> None:
        self.reloads = self.bench.machine.start("/bin/sh", "-c", RELOADS)
        self.controller_killed()

    def disk_full(self) -> None:
        state = self.bench.machine.state
        assert state
        assert self.controller
        state.fill()
        self.go_on()
        self.controller.wait(60)  # whatever it makes of that, the host must be as before once it is over

    def read_only(self) -> None:
        state = self.bench.machine.state
        assert state
        assert self.controller
        state.break_read_only()
        self.go_on()
        self.controller.wait(60)

    def clock_forward(self) -> None:
        clock.step(self.bench.machine, 3600)
        self.controller_killed()

    def clock_back(self) -> None:
        clock.step(self.bench.machine, -3600)
        self.controller_killed()

    def controller_signal(self, signum: signal.Signals) -> None:
        assert self.controller
        self.controller.signal(signum)

    def staged_before(self) -> bool:
        """Whether the guard restored only after the controller had nothing more to do."""
        return self.case.boundary.record == "note hold"
