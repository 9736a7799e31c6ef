"""Workers whose runs' processes are stand-ins: what is tested is the queue and the worker, no host is there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stager.fleet.database import find_database
from stager.fleet.queue import Queue, open_queue
from stager.models.fleet import Job, Rollout
from tests.unit.fleet.cases import utc

SERVE = Path(__file__).with_name("serve.py")
#: Reads its order and says that all is well; the smallest process there is.
WELL = ("/bin/sh", "-c", """read -r order; printf '{"ending": "done", "exit_code": 0}'""")


@dataclass
class Bench:
    """One worker of one queue in a file."""

    home: Path
    process: subprocess.Popen[bytes]
    queue: Queue

    def peak(self) -> float:
        """The most memory the worker held so far, in MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) / 1024

    def cpu(self) -> float:
        """Seconds of CPU the worker took so far, without its children."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def runs_cpu(self) -> float:
        """Seconds of CPU that the runs' processes took, those that are over."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / 100

    def until_over(self, batch: str, patience: float) -> float:
        """Wait until every job of a batch has ended; returns how long it took."""
        begun = time.monotonic()
        while time.monotonic() - begun < patience:
            rows = self.queue.rows(batch=batch)
            if all(row.told or row.state == "cancelled" for row in rows):
                return time.monotonic() - begun
            time.sleep(max(0.3, len(rows) / 200))  # looking costs time, too
        raise AssertionError(f"not over in {patience:.0f} s:\n{(self.home / 'log').read_text()[-3000:]}")


@contextmanager
def bench(home: Path, command: tuple[str, ...] = WELL, slots: int = 8, polling: float = 0.2) -> Iterator[Bench]:
    """A worker that serves a queue in a file, until the test is over."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "log").open("w") as log, open_queue(find_database(home)) as queue:
        words = [sys.executable, str(SERVE), str(home), str(slots), str(polling), *command]
        environment = {"PYTHONPATH": str(SERVE.parents[2]), "PATH": "/usr/bin:/bin", "HOME": str(home)}
        process = subprocess.Popen(
            words, stdout=log, stderr=log, cwd=SERVE.parents[2], env=environment | {"STAGER_HOME": str(home)}
        )
        try:
            while "serves" not in (home / "log").read_text():
                assert process.poll() is None, (home / "log").read_text()
                time.sleep(0.1)
            yield Bench(home, process, queue)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def jobs(count: int) -> Rollout:
    """One job for each of so many hosts; nothing in them is read by a stand-in."""
    made = tuple(
        Job(
            job_id=f"scale-{number:04d}", batch="scale", host=f"host{number}", name="p", path="/p.yaml",
            sha256="0" * 64, text="x" * 4000, release_key="", submitted=utc("2026-11-29 22:00"), submitted_by="me@here",
        )
        for number in range(count)
    )  # fmt: skip
    return Rollout(batch="scale", waves=(made,), stop_after=count)
