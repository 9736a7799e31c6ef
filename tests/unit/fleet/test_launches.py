"""Runs in processes of their own: started, heard, ended in order, and noticed when they die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stager.fleet.carry import Order, follow_worker
from stager.fleet.launches import Launches, WorkerStops, heard
from stager.models.fleet import Told
from tests.unit.fleet.test_work import job

#: What stands in for a run: it says its word when it is told to end, as a real one does after its cleanup.
WAITS = """
import json, signal, sys
told = {"ending": "done", "exit_code": 143, "run_id": json.loads(sys.stdin.readline())["run_id"]}
signal.signal(signal.SIGTERM, lambda *_: (print(json.dumps(told)), sys.exit(143)))
print("ready", file=sys.stderr, flush=True)
signal.pause()
"""


def order() -> Order:
    return Order(job=job(job_id="b-0001"), run_id="run")


def test_a_run_that_is_asked_to_end_says_its_word(tmp_path: Path) -> None:
    """Cancelling a job ends its process in order; what it says is the job's end, and it is known who asked."""
    launches = Launches(tmp_path, (sys.executable, "-c", WAITS))
    heard_back: list[Told | None] = []
    thread = threading.Thread(target=lambda: heard_back.append(launches.carry(order())))
    thread.start()
    log = tmp_path / "fleet" / "logs" / "run.log"
    while not log.exists() or not log.read_text():
        time.sleep(0.02)
    launches.cancel("b-0001")
    launches.cancel("b-0001")
    thread.join(20)

    assert heard_back == [Told(ending="done", exit_code=143, run_id="run")]
    assert launches.asked_to_end("b-0001")
    assert launches.jobs() == []


def test_a_run_that_dies_without_a_word_is_noticed(tmp_path: Path) -> None:
    """A process that is killed, or says nothing we know, is no end of the job: its host must be asked."""
    launches = Launches(tmp_path, (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))

    assert launches.carry(order()) is None
    assert heard(b"Traceback", "run") is None
    assert heard(b"", "run") is None


def test_an_error_is_heard_with_its_code() -> None:
    """What a command says when it fails is what the job came to."""
    error = {"code": 11, "kind": "host-held", "message": "held", "host_state": "untouched", "next": ""}

    assert heard(json.dumps({"error": error}).encode(), "run") == Told(
        ending="done", exit_code=11, run_id="run", kind="host-held", message="held", host_state="untouched"
    )


def test_a_closed_worker_starts_nothing(tmp_path: Path) -> None:
    """Once the worker ends, a job that comes up stays in the queue."""
    launches = Launches(tmp_path)
    launches.close()

    with pytest.raises(WorkerStops):
        launches.carry(order())


def test_the_end_of_the_worker_is_noticed() -> None:
    """When the worker's end of the pipe is closed, by its death or otherwise, the run is told."""
    here, there = os.pipe()
    told = threading.Event()
    with os.fdopen(here, "rb") as stream:
        follow_worker(stream, told.set)
        assert not told.wait(0.05)
        os.close(there)
        assert told.wait(10)


def test_a_run_that_ends_before_its_worker_ends_quietly() -> None:
    """While it watches for the worker's end a run's process can end by itself, without a word on standard error."""
    program = (
        "import sys; from stager.fleet.carry import follow_worker, end_in_order; "
        "sys.stdin.buffer.readline(); follow_worker(sys.stdin.buffer, end_in_order); print('over')"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"order\n")
        process.stdin.flush()
        assert (process.stdout.read(), process.stderr.read(), process.wait(30)) == (b"over\n", b"", 0)
