"""A lab host with production on it and the desk before it: what a test does there, and what it looks at."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.desk import Desk, Said
from tests.lab.faults.controller import Controller
from tests.lab.rig.machine import STATE, Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.snapshot import Snapshot

INDEX = "/var/tmp/stager-open"
MARKER = "/run/llama/maintenance"
PROD, WATCHDOG = "prod.service", "watchdog.timer"
#: Programs that come and go by themselves: what a timer's service runs, and systemd's own helpers.
PASSING = ("/bin/sh", "systemctl", "(sh)", "/usr/bin/systemctl", "/lib/systemd/systemd-hostnamed")


def passing(argv: tuple[str, ...]) -> bool:
    """Whether a process is no part of what is compared; the far end of a channel lives as long as its controller."""
    return argv[0] in PASSING or "logind" in argv[0] or {"serve", "--nonce"} <= set(argv)


class Scene:
    """Lay production first; ``units`` are those that are compared."""

    def __init__(self, folder: Path, machine: Machine, *units: str, **playbook: Any) -> None:
        self.folder = folder
        self.machine = machine
        self.units = units or (PROD, WATCHDOG)
        self.desk = Desk(folder, machine)
        self.playbook(**playbook)
        self.before = self.snapshot()

    def playbook(self, **changes: Any) -> None:
        """Write the playbook with short times; sections are merged."""
        guard = {"lease": "3s", "deadline": "5m"} | changes.pop("guard", {})
        candidate = {"stop": {"grace": "2s"}, "limits": {"runtime": "2m"}} | changes.pop("candidate", {})
        self.desk.write(guard=guard, candidate=candidate, **changes)

    # -- the controller -------------------------------------------------------------------------------------------

    def start(self, *words: str, home: str = "home") -> Controller:
        """Start `stager` with these words."""
        return Controller.start(self.folder, *words, "--json", home=home)

    def stager(self, *words: str, patience: float = 90, home: str = "home") -> Said:
        """Call `stager` and wait for it."""
        controller = self.start(*words, home=home)
        code = controller.wait(patience)
        return Said(code, controller.out(), controller.words())

    def tell(self, *words: str) -> Said:
        """Call `stager` for a person: no JSON."""
        controller = Controller.start(self.folder, *words)
        code = controller.wait(60)
        return Said(code, controller.out(), controller.words())

    def stage(self, hold: str = "60s") -> str:
        """Stage, leave, and return the run's id."""
        said = self.stager("stage", str(self.desk.playbook), "--hold", hold)
        assert said.code == 0, said.err
        return str(said.document["run_id"])

    # -- the host -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The host now, with what only moves by itself taken out."""
        seen = self.machine.snapshot(self.units)
        units = {name: tuple("waiting" if word == "running" and name.endswith(".timer") else word for word in state)
                 for name, state in seen.units.items()}  # fmt: skip
        return replace(
            seen,
            units=units,
            unit_files={p: w for p, w in seen.unit_files.items() if p != "/run/systemd/transient"},
            processes=tuple(argv for argv in seen.processes if not passing(argv)),
        )

    def differences(self, *, but: tuple[str, ...] = (), patience: float = 5.0) -> list[str]:
        """What is not as it was at first, once it has had a moment to settle."""
        end = time.monotonic() + patience
        while (lines := self.before.differences(self.snapshot(), but=but)) and time.monotonic() < end:
            time.sleep(0.2)
        return lines

    def unit(self, name: str, field: str = "ActiveState") -> str:
        """One field of a unit, as systemd says it."""
        return self.machine.sh("systemctl", "show", "-p", field, "--value", "--", name).stdout.strip()

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

    def verdict(self, run_id: str) -> dict[str, Any] | None:
        """The newest verdict in a run's journal."""
        return next((r for r in reversed(self.journal(run_id)) if r["kind"] == "verdict"), None)

    def wait_verdict(self, run_id: str, words: str, patience: float = 30) -> dict[str, Any]:
        """Wait for a verdict that says this."""
        until(lambda: (self.verdict(run_id) or {}).get("step") == words, f"the verdict {words!r}", patience)
        found = self.verdict(run_id)
        assert found
        return found

    def wait_free(self, patience: float = 30) -> None:
        """Wait until no run is open and no unit of ours is left.

        Raises:
            RuntimeError: units of ours are left.
        """
        until(lambda: not self.open_runs(), "the host to be free again", patience)
        end = time.monotonic() + 10
        while (ours := self.snapshot().ours) and time.monotonic() < end:
            time.sleep(0.1)
        if ours:
            raise RuntimeError(f"units of ours are left: {ours}")

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

    # -- failpoints -----------------------------------------------------------------------------------------------

    def arm(self, **record: Any) -> None:
        """Let whoever writes such a record (``seq=7``, ``step="unit.stop"``) stop right after it."""
        self.disarm()
        self.machine.write(f"{STATE}/failpoint", json.dumps(record), 0o600)

    def disarm(self) -> None:
        """Take every failpoint away."""
        for name in ("failpoint", "failpoint.hit"):
            self.machine.path(f"{STATE}/{name}").unlink(missing_ok=True)

    def hit(self) -> dict[str, Any] | None:
        """The process that stopped itself, and at which record; None while none did."""
        try:
            return dict(json.loads(self.machine.read(f"{STATE}/failpoint.hit")))
        except (OSError, ValueError):
            return None

    def wait_hit(self, controller: Controller | None = None, patience: float = 40) -> dict[str, Any]:
        """Wait for the failpoint.

        Raises:
            RuntimeError: the controller ended without it.
        """

        def look() -> dict[str, Any] | None:
            if (hit := self.hit()) is None and controller and controller.over():
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
