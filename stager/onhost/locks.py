"""Locks that the kernel frees when their holder dies.

The host lock is held by a run's guard from the first change to the last. The change lock is held for each change, with
its holder's identity written beside it, so that a restore can end a holder that was stopped in the middle.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
from typing import Any, Dict, Iterator, Optional

from . import clocks, processes
from .faults import Held
from .files import read_record, write_record
from .state import Index, Run, shared_folder

LOOKING_S = 1  # seconds that a host's lock may be somebody's who only looks


def open_lock(path: str) -> int:
    """Open a lock file (never through a link), making it if need be; close-on-exec."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe laid there must not hold us up
    try:
        fd = os.open(path, flags)  # without O_CREAT first: sticky folders forbid that on another user's file
    except FileNotFoundError:
        old = os.umask(0)
        try:
            fd = os.open(path, flags | os.O_CREAT, 0o644)
        finally:
            os.umask(old)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "%s is not a regular file" % path)
    return fd


def try_lock(fd: int) -> bool:
    """Take an exclusive flock if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise


def host_lock_path() -> str:
    """The host's one lock."""
    return os.path.join(shared_folder(), "stager.lock")


def take_host(run_id: str, index: Optional[Index] = None) -> int:
    """Take the host for a run: free means the lock is obtained *and* no other run is open. Returns the descriptor.

    Raises:
        Held: with the owner's record.
    """
    fd = open_lock(host_lock_path())
    owner = taken(fd, index or Index(), run_id)
    if owner is None:
        return fd
    os.close(fd)
    raise held(owner)


def taken(fd: int, index: Index, run_id: str = "") -> Optional[Dict[str, Any]]:
    """Take the host's lock; None when that went well and no other run is open, else the owner's record.

    Whoever only looks (``busy_with``) takes the lock for a moment, too: one that is taken with no run open is tried
    for up to a second.
    """
    end = clocks.boottime_ns() + LOOKING_S * clocks.SECOND
    while True:
        ours = try_lock(fd)
        entries = index.entries()
        others = [entry for entry in entries if entry["run_id"] != run_id]
        if others:
            return others[0]
        if ours:
            return None
        if clocks.boottime_ns() > end:
            return entries[0] if entries else {}
        clocks.pause(0.02)


def held(owner: Dict[str, Any]) -> Held:
    """The words for a host that is taken: who, since when."""
    who = owner.get("holder", "somebody whose record cannot be read")
    return Held(
        "The host is held by run %s of %s since %s."
        % (owner.get("run_id", "unknown"), who, owner.get("since", "unknown")),
        owner=owner,
    )


def busy_with(index: Optional[Index] = None) -> Optional[Dict[str, Any]]:
    """The owner record of whoever holds the host now; None when it is free."""
    index = index or Index()
    others = index.entries()
    if others:
        return others[0]
    fd = open_lock(host_lock_path())
    try:
        return taken(fd, index)
    finally:
        os.close(fd)


class Hold:
    """A change lock that is held; ``extend`` says until when its holder may be left alone."""

    def __init__(self, run: Run) -> None:
        self.path = run.at("change.holder")
        self.extend(0.0)

    def extend(self, seconds: float) -> None:
        """Ask a restore that waits for this lock to leave us alone for so long."""
        until = clocks.boottime_ns() + int(seconds * clocks.SECOND)
        with contextlib.suppress(OSError):  # a read-only folder: the lock holds all the same
            write_record(self.path, dict(processes.me(), until=until))


@contextlib.contextmanager
def change_lock(run: Run, usurp: bool = False, patience: float = 600.0) -> Iterator[Hold]:
    """Hold the run's change lock.

    ``usurp`` (restores only) ends a holder of ours that neither lets go in 0.3 s nor has asked for more time:
    whatever it was in the middle of is in the journal.

    Raises:
        TimeoutError: not obtained in ``patience`` seconds.
    """
    path = run.at("change.lock")
    fd = open_lock(path)
    try:
        start = clocks.boottime_ns()
        while not try_lock(fd):
            waited = (clocks.boottime_ns() - start) / clocks.SECOND
            if usurp and waited > 0.3:
                end_holder(run)
            elif waited > patience:
                raise TimeoutError("another process of ours has held %s for %.0f s" % (path, waited))
            clocks.pause(0.02)
        yield Hold(run)
    finally:
        os.close(fd)


def end_holder(run: Run) -> None:
    """SIGKILL the process that holds the change lock, if its time is over."""
    holder = read_record(run.at("change.holder"))
    if holder and holder.get("pid") != os.getpid() and clocks.boottime_ns() > int(holder.get("until", 0)):
        identity = {key: holder[key] for key in ("pid", "start", "boot_id")}
        if not processes.send(identity, signal.SIGSTOP):
            return
        for pid in processes.descendants(
            int(identity["pid"])
        ):  # a client it left behind must not act after the restore
            below = processes.identify(pid)
            if below:
                processes.send(below, signal.SIGKILL)
        processes.send(identity, signal.SIGKILL)
