"""One host with production, a bystander and another's marker on it, on which cases are tried one after the other."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.desk import Desk
from tests.lab.faults.controller import Controller
from tests.lab.rig import clock
from tests.lab.rig.machine import STATE, Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.rig.slots import Slot
from tests.lab.rig.snapshot import Snapshot

LEASE = 3.0
UNITS = ("prod.service", "watchdog.timer")
INDEX = "/var/tmp/stager-open"
BYSTANDER = "/opt/bystander"
OTHERS_MARKER = "/run/llama/others.note"  # matches nothing the playbook respects
DISK_MIB = 48
SLEEPER = "import time\nwhile True:\n    time.sleep(60)\n"


class Bench:
    """The host, the desk before it, and what it looked like when nothing was wrong."""

    def __init__(self, slot: Slot, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.machine = Machine(slot, suite="trixie" if kind == "clock" else "bookworm", state_mib=DISK_MIB)
        if kind == "clock":
            clock.fake(self.machine)
            self.machine.sh("systemctl", "restart", "ssh.service")
        lay(self.machine)
        self.machine.write(f"{BYSTANDER}/serve.py", SLEEPER)
        self.machine.write(OTHERS_MARKER, "not stager's\n")
        self.desk = Desk(folder, self.machine)
        self.playbook()
        self.bystander: subprocess.Popen[bytes] | None = None
        self.stand_by()
        self.stage(hold="60s")
        self.finish("cleanup", self.runs()[-1])
        until(lambda: not self.pids_of("stager.* serve "), "the end of the last channel", 10)
        self.before = self.snapshot()

    def playbook(self, **changes: Any) -> None:
        """Write the playbook with the matrix's short times."""
        guard = {"lease": f"{LEASE:g}s", "deadline": "5m"} | changes.pop("guard", {})
        stop = {"stop": {"grace": "2s"}, "limits": {"runtime": "2m"}}
        self.desk.write(guard=guard, candidate=stop, **changes)

    # -- the host -------------------------------------------------------------------------------------------------

    def stand_by(self) -> None:
        """Start the bystander: another program with the candidate's own argv."""
        if self.bystander is None or self.bystander.poll() is not None:
            argv = ["/usr/bin/python3", "serve.py", "--port", "18080", "--slots", "4"]
            self.bystander = self.machine.start("env", "-C", BYSTANDER, *argv)

    def snapshot(self) -> Snapshot:
        """The host now, with what only moves by itself taken out."""
        seen = self.machine.snapshot(UNITS)
        units = {name: tuple("waiting" if word == "running" and name.endswith(".timer") else word for word in state)
                 for name, state in seen.units.items()}  # fmt: skip
        passing = ("/bin/sh", "systemctl", "(sh)", "/usr/bin/systemctl", "/lib/systemd/systemd-hostnamed")
        return replace(
            seen,
            units=units,
            unit_files={p: w for p, w in seen.unit_files.items() if p != "/run/systemd/transient"},
            processes=tuple(argv for argv in seen.processes if argv[0] not in passing and "logind" not in argv[0]),
        )

    def open_runs(self) -> list[str]:
        """The runs the host's index says are open."""
        try:
            return sorted(path.name for path in self.machine.path(INDEX).iterdir() if not path.name.startswith("."))
        except FileNotFoundError:
            return []

    def runs(self) -> list[str]:
        """Every run in the state folder."""
        folder = self.machine.path(f"{STATE}/runs")
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def journal(self, run_id: str) -> list[dict[str, Any]]:
        """A run's records."""
        try:
            lines = self.machine.read(f"{STATE}/runs/{run_id}/journal.jsonl").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def lease(self, run_id: str) -> dict[str, Any]:
        """A run's lease as it stands, or stood last."""
        line = self.machine.read(f"{STATE}/runs/{run_id}/lease")
        return dict(json.loads(line.partition(" ")[2]))

    def guard(self, run_id: str) -> int:
        """The guard's pid, as the host counts."""
        document = json.loads(self.machine.read(f"{STATE}/runs/{run_id}/guard.json"))
        return int(document["process"]["pid"])

    def pids_of(self, word: str) -> list[int]:
        """The host's own pids whose argv holds a word."""
        out = self.machine.sh("pgrep", "-f", "--", word, check=False).stdout
        return [int(pid) for pid in out.split()]

    def kill(self, signum: signal.Signals, *pids: int) -> None:
        """Signal processes by the host's own pids; one that is gone is fine."""
        if pids:
            self.machine.sh("kill", f"-{signum.name[3:]}", "--", *map(str, pids), check=False)

    # -- the controller -------------------------------------------------------------------------------------------

    def start(self, *words: str) -> Controller:
        """Start `stager` with these words."""
        return Controller.start(self.folder, *words, "--json")

    def finish(self, *words: str, patience: float = 60) -> int:
        """Call `stager` and wait for it.

        Raises:
            RuntimeError: it did not end with 0.
        """
        controller = self.start(*words)
        code = controller.wait(patience)
        if code:
            raise RuntimeError(f"stager {' '.join(words)} ended with {code}:\n{controller.words()}")
        return code

    def stage(self, hold: str) -> str:
        """Stage, leave, and return the run's id."""
        self.finish("stage", str(self.desk.playbook), "--hold", hold)
        return self.runs()[-1]

    # -- failpoints -----------------------------------------------------------------------------------------------

    def arm(self, seq: int) -> None:
        """Let whoever writes this record stop right after it."""
        self.disarm()
        self.machine.write(f"{STATE}/failpoint", json.dumps({"seq": seq}), 0o600)

    def disarm(self) -> None:
        """Take every failpoint away."""
        for name in ("failpoint", "failpoint.hit"):
            with contextlib.suppress(OSError):
                self.machine.path(f"{STATE}/{name}").unlink()

    def hit(self) -> dict[str, Any] | None:
        """The process that stopped itself, and at which record; None while none did."""
        try:
            return dict(json.loads(self.machine.read(f"{STATE}/failpoint.hit")))
        except (OSError, ValueError):
            return None

    def wait_hit(self, controller: Controller, patience: float = 40) -> dict[str, Any]:
        """Wait for the failpoint.

        Raises:
            RuntimeError: the controller ended without it.
        """

        def look() -> dict[str, Any] | None:
            if (hit := self.hit()) is None and controller.over():
                raise RuntimeError(f"the boundary was never reached: {controller.words()}")
            return hit

        hit = until(look, "the failpoint", patience)
        assert hit
        until(lambda: self.stopped(int(hit["pid"])), "the process to stop itself", 5)
        return hit

    def stopped(self, pid: int) -> bool:
        """Whether a process of the host is stopped by a signal, or gone."""
        try:
            return ") T " in self.machine.path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True

    # -- the end --------------------------------------------------------------------------------------------------

    def wait_free(self, patience: float) -> None:
        """Wait until no run is open and no unit of ours is left."""
        until(lambda: not self.open_runs(), "the host to be free again", patience)
        end = time.monotonic() + 10
        while (ours := self.snapshot().ours) and time.monotonic() < end:
            time.sleep(0.1)
        if ours:
            raise RuntimeError(f"units of ours are left: {ours}")

    def differences(self, *, rebooted: bool = False, patience: float = 5.0) -> list[str]:
        """What is not as before the case, once it has had a moment to settle; a reboot empties /run."""
        end = time.monotonic() + patience
        while True:
            lines = self.before.differences(self.snapshot(), but=("files",) if rebooted else ())
            if rebooted:
                lines = [line for line in lines if "serve.py" not in line and "/run/systemd" not in line]
                lines += [f"files: {path} is left" for path in ("/run/llama/maintenance",)
                          if self.machine.path(path).exists()]  # fmt: skip
            if not lines or time.monotonic() > end:
                return lines
            time.sleep(0.2)

    def production_started_ns(self) -> int:
        """When systemd began to start production last, on the monotonic clock, in ns."""
        shown = self.machine.sh("systemctl", "show", "-p", "InactiveExitTimestampMonotonic", "--value", UNITS[0]).stdout
        return int(shown) * 1000

    def booted_ns(self) -> int:
        """When this host's own boot began, on the monotonic clock, in ns."""
        shown = self.machine.sh("systemctl", "show", "-p", "UserspaceTimestampMonotonic", "--value").stdout
        return int(shown) * 1000
