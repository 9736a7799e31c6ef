"""A fleet to test with: workers as processes of their own, and what the hosts' journals say."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.rig.machine import STATE, Machine

STAGER = (sys.executable, "-m", "stager")
PATIENCE = 120.0


@dataclass
class Fleet:
    """A queue, and the workers that were started on it; each worker has a state folder of its own."""

    folder: Path
    database: str = ""
    workers: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def home(self, name: str) -> Path:
        """A worker's state folder. A queue in a file lies in the folder of its one worker, `a`."""
        return self.folder / f"home-{name}"

    def environment(self, name: str) -> dict[str, str]:
        """What a worker's process sees."""
        environment = {**os.environ, "STAGER_HOME": str(self.home(name))}
        environment.pop("STAGER_FLEET_DATABASE", None)
        return environment | ({"STAGER_FLEET_DATABASE": self.database} if self.database else {})

    def call(self, *words: str, home: str = "a", source: Path | None = None) -> tuple[int, dict[str, Any], str]:
        """Call `stager … --json`; returns exit code, document, words. `source` holds another stager than ours."""
        done = subprocess.run(
            [*STAGER, *words, "--json"], env=self.environment(home), capture_output=True, text=True, timeout=60,
            check=False, cwd=source,
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout), done.stderr

    def stager(self, *words: str, home: str = "a", check: bool = True, source: Path | None = None) -> dict[str, Any]:
        """Call `stager fleet …` and return its document."""
        code, document, said = self.call("fleet", *words, home=home, source=source)
        assert code == 0 or not check, f"{words}: {code}\n{said}"
        return document

    def start(self, name: str = "a", source: Path | None = None) -> subprocess.Popen[str]:
        """Start a worker; its words go to a file in its folder. `source` holds another stager than ours."""
        self.home(name).mkdir(parents=True, exist_ok=True)
        with (self.home(name) / "worker.log").open("a") as log:
            process = subprocess.Popen(
                [*STAGER, "fleet", "worker", *self.options], env=self.environment(name), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, text=True, start_new_session=True, cwd=source,
            )  # fmt: skip
        self.workers[name] = process
        return process

    def kill(self, name: str, *, with_runs: bool = False) -> None:
        """Kill a worker without a word; its runs' processes notice by themselves, or are killed with it."""
        process = self.workers.pop(name)
        process.send_signal(signal.SIGSTOP)  # so that neither side has time to act on the other's end
        for pid in children(process.pid) if with_runs else ():
            with suppress(ProcessLookupError):
                run = os.pidfd_open(pid)
                signal.pidfd_send_signal(run, signal.SIGKILL)
                os.close(run)
        process.kill()
        process.wait()

    def stop(self, name: str) -> int:
        """End a worker in order."""
        process = self.workers.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def jobs(self, home: str = "a", batch: str = "") -> list[dict[str, Any]]:
        """Every job, oldest first."""
        told = self.stager("status", "--limit", "500", *(["--batch", batch] if batch else []), home=home, check=False)
        return list(reversed(told["jobs"]))

    def until_over(self, patience: float = PATIENCE, home: str = "a") -> list[dict[str, Any]]:
        """Wait until every job has ended."""

        def look() -> list[dict[str, Any]] | None:
            jobs = self.jobs(home)
            return jobs if all(job["ending"] or job["state"] == "cancelled" for job in jobs) else None

        return list(until(look, patience, self))

    def close(self) -> None:
        """End every worker; their runs' processes end by themselves."""
        for process in self.workers.values():
            process.kill()
            process.wait()

    def words(self) -> str:
        """What the workers said."""
        logs = sorted(self.folder.glob("home-*/worker.log")) + sorted(self.folder.glob("home-*/fleet/logs/*.log"))
        return "\n".join(f"--- {log.relative_to(self.folder)}\n{log.read_text()[-3000:]}" for log in logs)


def children(pid: int) -> list[int]:
    """The processes that a process of ours has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


def until(look: Callable[[], Any], patience: float, fleet: Fleet) -> Any:
    """Wait until something is there; the workers have their say where it never is."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.5)
    raise AssertionError(f"not in {patience:.0f} s\n{fleet.words()}")


@dataclass(frozen=True)
class Span:
    """One run as its host's journal has it, in seconds on the host's boot clock."""

    run_id: str
    begun: float
    ended: float | None
    verdict: str
    reason: str


def journals(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    """The records of every run that has some, from the host's own files."""
    paths = sorted((machine.root / STATE.lstrip("/") / "runs").glob("*/journal.jsonl"))
    lines = {path.parent.name: path.read_text().splitlines() for path in paths}
    found = {run: [json.loads(line) for line in text if line.endswith("}")] for run, text in lines.items()}
    return {run: records for run, records in found.items() if records}


def verdicts(machine: Machine) -> dict[str, dict[str, Any]]:
    """The last verdict of every run that has one."""
    found = {run: [one for one in records if one["kind"] == "verdict"] for run, records in journals(machine).items()}
    return {run: records[-1] for run, records in found.items() if records}


def spans(machine: Machine) -> list[Span]:
    """Every run of a host, oldest first, from its journals: from the fence's first record to the verdict."""
    ended = verdicts(machine)
    found = []
    for run, records in journals(machine).items():
        end = ended.get(run)
        begun = records[0]["boottime_ns"] / 1e9
        over = end["boottime_ns"] / 1e9 if end else None
        found.append(Span(run, begun, over, end["step"] if end else "", end["reason"] if end else ""))
    return sorted(found, key=lambda span: span.begun)


def overlaps(runs: list[Span]) -> list[tuple[str, str]]:
    """Pairs of runs of one host of which one began before the other had ended."""
    return [
        (one.run_id, other.run_id)
        for one, other in itertools.pairwise(runs)
        if one.ended is None or other.begun < one.ended
    ]
