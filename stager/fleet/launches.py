"""The runs of one worker: a process each, started, ended in order when asked to, and read to its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stager.errors import StagerError
from stager.fleet.carry import Order
from stager.models.fleet import Told

#: How a run's process is started; it reads its order from standard input and says what it came to on standard output.
CARRY = (sys.executable, "-m", "stager", "fleet", "carry", "--json")


class WorkerStops(Exception):
    """The worker is about to end: a job that has not begun stays in the queue as it is."""


class Launches:
    """The processes of the runs under way, by job.

    Args:
        home: ``$STAGER_HOME``; each run's progress goes to a file below it.
        command: what to start.
    """

    def __init__(self, home: Path, command: Sequence[str] = CARRY) -> None:
        self._logs = home / "fleet" / "logs"
        self._command = tuple(command)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._closed = False

    def carry(self, order: Order) -> Told | None:
        """Start a run's process and wait for its word; None where it died without one.

        Raises:
            WorkerStops: nothing is started any more.
            OSError: no process could be started.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{order.run_id}.log"
        with log.open("wb") as stderr, self._lock:
            if self._closed:
                raise WorkerStops
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # a Ctrl-C at the worker is the worker's to pass on
            )
            self._running[order.job.job_id] = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(order.model_dump_json().encode() + b"\n")
            process.stdin.flush()  # and it stays open: its end is how the process learns that we are gone
        except BrokenPipeError:
            pass  # it died; its status and its log say why
        said = process.stdout.read()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        with self._lock:
            del self._running[order.job.job_id]
        return heard(said, order.run_id)

    def jobs(self) -> list[str]:
        """Return the jobs whose run is under way."""
        with self._lock:
            return list(self._running)

    def cancel(self, job_id: str) -> None:
        """Ask one run to clean up and end; a second time changes nothing."""
        with self._lock:
            if job_id in self._asked:
                return
            self._asked.add(job_id)
            self._end(job_id)

    def asked_to_end(self, job_id: str) -> bool:
        """Whether somebody cancelled a job of ours."""
        with self._lock:
            return job_id in self._asked

    def close(self) -> None:
        """Start nothing more, and ask every run to clean up and end."""
        with self._lock:
            self._closed = True
            for job_id in self._running:
                self._end(job_id)

    def _end(self, job_id: str) -> None:
        process = self._running.get(job_id)
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)


def heard(said: bytes, run_id: str) -> Told | None:
    """Return what a run's process said: its word, or the error it ended with; None for anything else."""
    try:
        document: Any = json.loads(said)
        if "error" in document:
            error = document["error"]
            return Told(
                ending="done",
                exit_code=int(error["code"]),
                run_id=run_id,
                kind=str(error["kind"]),
                message=str(error["message"]),
                host_state=str(error["host_state"]),
            )
        return Told.model_validate_json(said)
    except (ValueError, KeyError, TypeError, ValidationError):
        return None


def fault(error: BaseException, run_id: str) -> Told:
    """Return what a fault of the worker's own means for a job."""
    message = error.message if isinstance(error, StagerError) else f"{type(error).__name__}: {error}"
    return Told(ending="done", exit_code=StagerError.exit_code, run_id=run_id, kind="stager-error", message=message)
