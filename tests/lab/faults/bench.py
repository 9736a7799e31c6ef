"""One host with production, a bystander and another's marker on it, on which cases are tried one after the other."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from tests.lab.rig import clock
from tests.lab.rig.machine import STATE, Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.rig.slots import Slot
from tests.lab.scene import MARKER, PROD, Scene

LEASE = 3.0
BYSTANDER = "/opt/bystander"
OTHERS_MARKER = "/run/llama/others.note"  # matches nothing the playbook respects
DISK_MIB = 48
SLEEPER = "import time\nwhile True:\n    time.sleep(60)\n"


class Bench(Scene):
    """The host, the desk before it, and what it looked like when nothing was wrong."""

    def __init__(self, slot: Slot, folder: Path, kind: str) -> None:
        self.kind = kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.machine = Machine(slot, suite="trixie" if kind == "clock" else "bookworm", state_mib=DISK_MIB)
        if kind == "clock":
            clock.fake(self.machine)
            self.machine.sh("systemctl", "restart", "ssh.service")
        lay(self.machine)
        self.machine.write(f"{BYSTANDER}/serve.py", SLEEPER)
        self.bystander: subprocess.Popen[bytes] | None = None
        self.stand_by()
        super().__init__(folder, self.machine, probes={"overlap": {"streams": 4, "max_tokens": 600}})
        self.stager("cleanup", self.stage())
        until(lambda: not self.pids_of("stager.* serve "), "the end of the last channel", 10)
        self.before = self.snapshot()

    def stand_by(self) -> None:
        """Let the bystander run (another program with the candidate's own argv) and the other's marker be there."""
        self.machine.write(OTHERS_MARKER, "not stager's\n")
        if self.bystander is None or self.bystander.poll() is not None:
            argv = ["/usr/bin/python3", "serve.py", "--port", "18080", "--slots", "4"]
            self.bystander = self.machine.start("env", "-C", BYSTANDER, *argv)

    def after_reboot(self, patience: float = 5.0) -> list[str]:
        """What is not as before; a reboot empties /run and ends the bystander."""
        end = time.monotonic() + patience
        while True:
            lines = self.before.differences(self.snapshot(), but=("files",))
            lines = [line for line in lines if "serve.py" not in line and "/run/systemd" not in line]
            lines += [f"files: {MARKER} is left"] if self.machine.path(MARKER).exists() else []
            if not lines or time.monotonic() > end:
                return lines
            time.sleep(0.2)

    def has_release(self) -> bool:
        """Whether the release is on the host already, all of it."""
        trees = self.machine.path(f"{STATE}/trees")
        names = [path.name for path in trees.iterdir()] if trees.exists() else []
        return bool(names) and not any(name.endswith(".unfinished") for name in names)

    def production_started_ns(self) -> int:
        """When systemd began to start production last, on the monotonic clock, in ns."""
        return int(self.unit(PROD, "InactiveExitTimestampMonotonic")) * 1000

    def booted_ns(self) -> int:
        """When this host's own boot began, on the monotonic clock, in ns."""
        shown = self.machine.sh("systemctl", "show", "-p", "UserspaceTimestampMonotonic", "--value").stdout
        return int(shown) * 1000
