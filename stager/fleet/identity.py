"""Which worker this is: one process for each state folder, held by a lock that the kernel frees when it dies."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stager.errors import Refused


@dataclass(frozen=True, slots=True)
class Identity:
    """A worker process. ``folder`` names its state folder on its machine; ``process`` no other process ever had."""

    folder: str
    process: str


@contextmanager
def only_one(home: Path) -> Iterator[Identity]:
    """Be the one worker of a state folder.

    Raises:
        Refused: another process is.
    """
    place = home / "fleet"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (place / "worker.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Refused(
                [f"Another worker ({lock.read().strip() or 'unknown'}) serves {home}; one does for each state folder."],
                next="stager fleet status",
            ) from None
        process = f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(3)}"
        lock.seek(0)
        lock.truncate()
        lock.write(process)
        lock.flush()
        yield Identity(f"{socket.gethostname()}:{home}", process)
