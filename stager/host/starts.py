"""How many logins may be under way at once.

sshd drops connections at random when many are unauthenticated together (MaxStartups 10:30:100), so starts are
bounded for each machine, jump hosts included: one jump host in front of sixty sees eight at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 8

_lock = threading.Lock()
_places: dict[tuple[str, int], threading.BoundedSemaphore] = {}


@contextmanager
def start(name: str, port: int) -> Iterator[None]:
    """Hold one of the eight places for a login to this machine."""
    with _lock:
        place = _places.setdefault((name, port), threading.BoundedSemaphore(AT_ONCE))
    with place:
        yield
