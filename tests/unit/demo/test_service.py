"""The demo's own start, stop and status commands, and its watchdog."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stager.demo.host import service
from stager.demo.host.service import DOES_NOT, RUNS, Service, identity

SCRIPT = service.__file__


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """The description of a program that sleeps; it is ended after the test."""
    path = tmp_path / "sleeper.json"
    argv = [sys.executable, "-c", "import time; time.sleep(600)"]
    path.write_text(json.dumps({"argv": argv, "log": str(tmp_path / "log"), "grace": 5}))
    yield path
    call("stop", path)


def call(verb: str, file: Path) -> int:
    """Run the script as the playbook does, and return its status."""
    return subprocess.run([sys.executable, "-I", SCRIPT, verb, str(file)], check=False).returncode


def until(true: Callable[[], object]) -> bool:
    """Wait up to ten seconds."""
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


def test_a_service_starts_once_answers_and_stops(file: Path) -> None:
    """Status says 3, then 0, then 3; a second start leaves the process that runs."""
    assert call("status", file) == DOES_NOT
    call("start", file)
    assert call("status", file) == RUNS
    first = Service(file).running()
    call("start", file)
    assert Service(file).running() == first
    call("stop", file)
    assert call("status", file) == DOES_NOT


def test_a_stranger_with_the_same_pid_is_left_alone(file: Path) -> None:
    """A recorded pid that now belongs to a process of another start time is neither running nor stopped."""
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        known = identity(stranger.pid)
        assert known
        Service(file).record.write_text(json.dumps(known | {"start": known["start"] - 1}))
        assert call("status", file) == DOES_NOT
        call("stop", file)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_program_that_ignores_term_is_killed_after_its_grace(file: Path) -> None:
    """A stop ends in time whatever the program thinks of signals."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    log = Path(json.loads(file.read_text())["log"])
    file.write_text(json.dumps({"argv": [sys.executable, "-c", deaf], "log": str(log), "grace": 0.3}))
    call("start", file)
    assert until(lambda: log.read_text())
    call("stop", file)
    assert call("status", file) == DOES_NOT


def test_the_watchdog_starts_what_is_down_obeys_the_marker_and_goes_with_its_owner(file: Path, tmp_path: Path) -> None:
    """It starts the service, not while the marker is there, and ends it and itself when the owner is gone."""
    marker = tmp_path / "maintenance"
    owner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    argv = [sys.executable, "-I", SCRIPT, "watch", str(marker), str(file), json.dumps(identity(owner.pid))]
    watchdog = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        assert until(Service(file).running)
        marker.touch()
        time.sleep(1)  # a look that began before the marker is over
        call("stop", file)
        time.sleep(1.5)
        assert not Service(file).running()
        marker.unlink()
        assert until(Service(file).running)
        owner.kill()
        owner.wait()
        assert watchdog.wait(10) == 0
        assert not Service(file).running()
    finally:
        for process in (owner, watchdog):
            process.kill()
            process.wait()


def test_a_tied_program_ends_with_its_parent(tmp_path: Path) -> None:
    """A program started through `tied` is gone soon after its parent was killed."""
    told = tmp_path / "pid"
    inner = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    outer = f"import subprocess as s, sys; s.run([sys.executable, {SCRIPT!r}, 'tied', sys.executable, '-c', {inner!r}])"
    parent = subprocess.Popen([sys.executable, "-c", outer], start_new_session=True)
    assert until(lambda: told.exists() and told.read_text())
    child = int(told.read_text())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert until(lambda: identity(child) is None)
