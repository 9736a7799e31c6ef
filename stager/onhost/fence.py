"""The fence: a number that only grows. Every change carries the one it was granted; a lower one is refused.

So a controller that was paused and wakes up after a restore, or after somebody else took its run over, can change
nothing.
"""

from __future__ import annotations

import fcntl
import os

from .faults import Fenced
from .locks import open_lock
from .state import Run

WIDTH = 20


def read(path: str) -> int:
    """The number in a fence file; 0 where there is none."""
    try:
        with open(path, "rb") as file:
            return int(file.read(WIDTH) or b"0")
    except (FileNotFoundError, ValueError):
        return 0


def put(path: str, number: int) -> None:
    """Rewrite a fence file in place: no new space is needed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.pwrite(fd, b"%0*d\n" % (WIDTH, number), 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def grant(run: Run) -> int:
    """Give out the next number of this host and make it the run's current one."""
    path = os.path.join(run.state, "fence")
    lock = open_lock(path + ".lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        number = max(read(path), read(run.fence_path)) + 1
        put(path, number)
        put(run.fence_path, number)
        return number
    finally:
        os.close(lock)


def check(run: Run, number: int) -> None:
    """Refuse a number that is not the run's current one.

    Raises:
        Fenced: with both numbers.
    """
    current = read(run.fence_path)
    if number != current:
        raise Fenced(
            "Run %s went on without this controller (its fence is %d, the run's is %d now): nothing was changed."
            % (run.run_id, number, current),
            next="stager status",
        )
