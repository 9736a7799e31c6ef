"""The lease: expiry = min(cap, max(hold_until, last + lease)), on the boot-time clock of one boot."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stager.onhost import clocks, files, lease
from stager.onhost.state import Run

NS = st.integers(min_value=0, max_value=10**15)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run's folder."""
    run = Run(str(tmp_path), "run")
    run.make()
    return run


@given(NS, NS, NS, NS)
def test_the_expiry(last: int, length: int, hold_until: int, cap: int) -> None:
    """Nothing is later than the cap; below it, whatever is later of the hold and the lease counts."""
    record = {"boot_id": clocks.boot_id(), "last": last, "lease": length, "hold_until": hold_until, "cap": cap}
    expiry = lease.expiry(record)
    assert expiry <= cap
    assert expiry == cap or expiry in (hold_until, last + length)
    assert expiry == cap or expiry >= max(hold_until, last + length)


def test_a_lease_of_another_boot_is_over() -> None:
    """Boot-time nanoseconds mean nothing beyond one boot."""
    record = {"boot_id": "another", "last": 10**18, "lease": 1, "hold_until": 10**18, "cap": 10**18}
    assert lease.expiry(record) == 0
    assert lease.expiry(None) == 0


def test_a_torn_lease_is_over(run: Run) -> None:
    """A record whose checksum is wrong is none."""
    lease.start(run, 60, 600)
    assert lease.seconds_left(run) > 50
    with open(run.lease_path, "r+b") as file:
        file.seek(20)
        file.write(b"#")
    assert lease.read(run) is None
    assert lease.seconds_left(run) == 0


def test_touch_renews_and_hold_never_shortens(run: Run) -> None:
    """A sign of life moves the lease; a shorter hold after a longer one changes nothing; the cap bounds all."""
    lease.start(run, 5, 100)
    lease.hold(run, 50)
    assert 45 < lease.seconds_left(run) <= 50
    lease.hold(run, 10)
    assert lease.seconds_left(run) > 45
    lease.hold(run, 1000)
    assert 95 < lease.seconds_left(run) <= 100
    lease.touch(run)
    assert lease.seconds_left(run) <= 100


def test_a_sign_of_life_cannot_undo_a_hold(run: Run) -> None:
    """Beats by one thread while another holds longer and longer: every hold stands."""
    lease.start(run, 5, 10**6)
    over = threading.Event()

    def beat() -> None:
        while not over.is_set():
            lease.touch(run)

    worker = threading.Thread(target=beat)
    worker.start()
    try:
        for seconds in range(1000, 1300):
            lease.hold(run, seconds)
            assert lease.seconds_left(run) > seconds - 30
    finally:
        over.set()
        worker.join()
    assert lease.seconds_left(run) > 1200


def test_a_change_of_the_lease_that_stands_still_holds_nobody_up(run: Run) -> None:
    """Whoever was stopped with the lock in hand: a renewal waits a second and goes on."""
    lease.start(run, 5, 100)
    with lease.alone(run):
        began = clocks.boottime_ns()
        lease.touch(run)
        assert 0.9 < (clocks.boottime_ns() - began) / clocks.SECOND < 3
    assert lease.seconds_left(run) > 4


def test_a_record_met_in_the_middle_of_a_write_is_read_again(run: Run) -> None:
    """It is torn only if it stays torn."""
    record = lease.start(run, 5, 100)
    Path(run.lease_path).write_bytes(b"half")
    threading.Timer(0.01, files.write_record, (run.lease_path, record)).start()
    assert lease.read(run) == record


def test_a_torn_lease_is_not_held(run: Run) -> None:
    """A hold cannot bring back what is over."""
    lease.start(run, 5, 100)
    Path(run.lease_path).write_bytes(b"#" * 512)
    assert lease.hold(run, 50) == 0
    assert lease.read(run) is None


def test_the_record_is_rewritten_in_place(run: Run) -> None:
    """A full disk cannot let the lease run out: a renewal needs no new space."""
    lease.start(run, 5, 100)
    inode, size = Path(run.lease_path).stat().st_ino, Path(run.lease_path).stat().st_size
    lease.touch(run)
    assert (Path(run.lease_path).stat().st_ino, Path(run.lease_path).stat().st_size) == (inode, size)
