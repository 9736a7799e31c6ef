"""Locks that the kernel frees, a change lock that a restore may take from a stopped process, and the fence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stager.onhost import clocks, fence, locks, processes
from stager.onhost.faults import Fenced, Held
from stager.onhost.state import Index, Run

HOLDER = """
import sys, time
from stager.onhost.locks import change_lock
from stager.onhost.state import Run
with change_lock(Run(sys.argv[1], "run")) as hold:
    hold.extend(float(sys.argv[2]))
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run's folder."""
    run = Run(str(tmp_path), "run")
    run.make()
    return run


def holder(run: Run, seconds: float) -> subprocess.Popen[str]:
    """Another process that holds the change lock and asks for so many seconds."""
    argv = [sys.executable, "-c", HOLDER, run.state, str(seconds)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_a_restore_ends_a_holder_that_stands_still(run: Run) -> None:
    """A stopped process that holds the change lock is killed, and the restore has it within a second."""
    process = holder(run, 0)
    os.kill(process.pid, signal.SIGSTOP)
    began = time.monotonic()
    with locks.change_lock(run, usurp=True):
        assert time.monotonic() - began < 5
    assert process.wait(5) == -signal.SIGKILL


def test_a_holder_that_asked_for_time_gets_it(run: Run) -> None:
    """A second restore waits for the first one's time to be over before it ends it."""
    process = holder(run, 1.5)
    began = time.monotonic()
    with locks.change_lock(run, usurp=True):
        assert time.monotonic() - began > 1.0
    assert process.wait(5) == -signal.SIGKILL


def test_a_change_never_ends_another(run: Run) -> None:
    """Only a restore takes the lock away; a change gives up."""
    process = holder(run, 0)
    with pytest.raises(TimeoutError), locks.change_lock(run, patience=0.5):
        pass
    assert process.poll() is None
    process.kill()
    process.wait()


def test_a_recycled_pid_is_not_the_holder(run: Run) -> None:
    """The holder's record names boot id and start time: another process of its number is left alone."""
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    from stager.onhost.files import write_record

    record = {"pid": bystander.pid, "start": 1, "boot_id": clocks.boot_id(), "until": 0}
    write_record(run.at("change.holder"), record)
    locks.end_holder(run)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_lock_file_is_never_opened_through_a_link(tmp_path: Path) -> None:
    """Somebody's link in the shared folder is refused."""
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError):
        locks.open_lock(str(tmp_path / "lock"))


def test_the_host_is_free_only_with_lock_and_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open run in the index holds the host even where nobody holds the lock; its owner is told."""
    monkeypatch.setattr(locks, "shared_folder", lambda: str(tmp_path))
    index = Index(str(tmp_path / "index"))
    first = locks.take_host("run-1", index)
    index.add("run-1", {"holder": "ops@desk", "since": "2026-01-01"})
    with pytest.raises(Held, match=r"run-1 of ops@desk since 2026-01-01"):
        locks.take_host("run-2", index)
    os.close(first)
    with pytest.raises(Held):
        locks.take_host("run-2", index)
    os.close(locks.take_host("run-1", index))  # its own boot leg may
    index.remove("run-1")
    os.close(locks.take_host("run-2", index))


def test_a_look_at_the_lock_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever only looks has the lock for a moment; a lock that stays taken with no run open is somebody's."""
    monkeypatch.setattr(locks, "shared_folder", lambda: str(tmp_path))
    index = Index(str(tmp_path / "index"))
    looking = locks.open_lock(locks.host_lock_path())
    assert locks.try_lock(looking)
    with pytest.raises(Held, match="whose record cannot be read"):
        locks.take_host("run-1", index)
    threading.Timer(0.2, os.close, (looking,)).start()
    os.close(locks.take_host("run-1", index))
    assert locks.busy_with(index) is None


def test_a_pipe_laid_as_a_lock_holds_nobody_up(tmp_path: Path) -> None:
    """It is refused at once."""
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(OSError, match="not a regular file"):
        locks.open_lock(str(tmp_path / "lock"))


def test_the_fence_only_grows_and_a_lower_number_is_refused(run: Run) -> None:
    """Whoever was granted a number before may change nothing after the next grant."""
    first = fence.grant(run)
    fence.check(run, first)
    second = fence.grant(run)
    assert second > first
    with pytest.raises(Fenced, match="nothing was changed"):
        fence.check(run, first)
    fence.check(run, second)


def test_the_fence_is_one_for_all_runs_of_a_host(run: Run) -> None:
    """Another run's grant is higher, and does not refuse the first run's."""
    first = fence.grant(run)
    other = Run(run.state, "other")
    other.make()
    assert fence.grant(other) > first
    fence.check(run, first)


def test_an_identity_means_one_process_only() -> None:
    """Same pid with another start time or boot is not alive, and gets no signal."""
    me = processes.me()
    assert processes.alive(me)
    assert not processes.alive(dict(me, start=me["start"] - 1))
    assert not processes.alive(dict(me, boot_id="another"))
    assert processes.send(dict(me, start=me["start"] - 1), signal.SIGKILL) is False


CLIENT = """
import subprocess, sys, time
from stager.onhost.locks import change_lock
from stager.onhost.state import Run
with change_lock(Run(sys.argv[1], "run")):
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    time.sleep(60)
"""


def test_a_clients_work_ends_with_the_holder_whose_time_is_over(run: Run) -> None:
    """What the ended holder had asked another program to do must not happen after the restore."""
    with subprocess.Popen([sys.executable, "-c", CLIENT, run.state], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        client = processes.identify(int(other.stdout.readline()))
        assert client

        with locks.change_lock(run, usurp=True):
            assert other.wait(5) == -signal.SIGKILL
            assert not processes.alive(client)
