"""How many logins may be under way at once.

sshd drops connections at random when many are unauthenticated together (MaxStartups 10:30:100), so starts are
bounded for each machine, jump hosts included: one jump host in front of sixty sees eight at a time. Where several
processes of one worker log in side by side they share the eight places, as files that the kernel unlocks.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

AT_ONCE = 8
#: The environment variable that names the folder in which several processes share their places.
SHARED = "STAGER_LOGIN_PLACES"
_AGAIN = 0.05  # seconds until the places are looked at again

_lock = threading.Lock()
_places: dict[tuple[str, int], threading.BoundedSemaphore] = {}


@contextmanager
def start(name: str, port: int) -> Iterator[None]:
    """Hold one of the eight places for a login to this machine."""
    with _lock:
        place = _places.setdefault((name, port), threading.BoundedSemaphore(AT_ONCE))
    with place:
        shared = os.environ.get(SHARED, "")
        if not shared:
            yield
            return
        with _file(Path(shared), f"{name}:{port}".replace("/", "_")):
            yield


def _file(folder: Path, name: str) -> IO[str]:
    """Wait for one of the places that processes share; closing the file gives it back."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        for number in range(AT_ONCE):
            file = (folder / f"{name}.{number}").open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            return file
        time.sleep(_AGAIN)
