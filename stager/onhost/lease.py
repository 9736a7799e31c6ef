"""The lease: how long the guard waits for a sign of life.

``expiry = min(cap, max(hold_until, last + lease))``, all in ns on the boot-time clock; it means something only in the
boot that wrote it. The record is rewritten in place, so a full disk cannot let it run out.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Dict, Iterator, Optional

from . import clocks
from .files import read_record, write_record
from .locks import open_lock, try_lock
from .state import Run

PATIENCE_S = 1  # seconds that a change of the lease waits for another one, which takes microseconds


def start(run: Run, lease_s: float, deadline_s: float) -> Dict[str, Any]:
    """Write the first lease of a run; ``deadline_s`` from now is the cap that nothing moves."""
    now = clocks.boottime_ns()
    record = {
        "boot_id": clocks.boot_id(),
        "last": now,
        "lease": int(lease_s * clocks.SECOND),
        "hold_until": 0,
        "cap": now + int(deadline_s * clocks.SECOND),
    }
    write_record(run.lease_path, record, sync=True)
    with contextlib.suppress(OSError), alone(run):
        pass  # its lock is made now: a renewal must not need to make a file
    return record


@contextlib.contextmanager
def alone(run: Run) -> Iterator[None]:
    """Read and rewrite the lease with nobody in between, so that a sign of life cannot undo a hold.

    A holder that stands still is not waited for: a renewal that comes too late costs the run.

    Raises:
        OSError: the lock cannot be opened.
    """
    fd = open_lock(run.at("lease.lock"))
    try:
        end = clocks.boottime_ns() + PATIENCE_S * clocks.SECOND
        while not try_lock(fd) and clocks.boottime_ns() < end:
            clocks.pause(0.005)
        yield
    finally:
        os.close(fd)


def read(run: Run) -> Optional[Dict[str, Any]]:
    """The lease as it stands; None where it cannot be read."""
    return read_record(run.lease_path)


def touch(run: Run) -> None:
    """A sign of life."""
    with alone(run):
        record = read(run)
        if record:
            record["last"] = clocks.boottime_ns()
            write_record(run.lease_path, record)


def hold(run: Run, seconds: float) -> int:
    """Hold for so long from now, whether or not anybody is connected; returns the new expiry.

    It never moves nearer. A lease that cannot be read is over, and stays so.
    """
    with alone(run):
        record = read(run)
        if record:
            until = clocks.boottime_ns() + int(seconds * clocks.SECOND)
            record["hold_until"] = max(until, int(record["hold_until"]))
            write_record(run.lease_path, record)
        return expiry(record)


def expiry(record: Optional[Dict[str, Any]]) -> int:
    """When the lease is over, in ns of this boot; 0 (over) where the record is torn or of another boot."""
    if not record or record.get("boot_id") != clocks.boot_id():
        return 0
    return int(min(record["cap"], max(record["hold_until"], record["last"] + record["lease"])))


def seconds_left(run: Run) -> float:
    """Seconds until the guard restores; never below 0."""
    return max(0.0, (expiry(read(run)) - clocks.boottime_ns()) / clocks.SECOND)
