"""Following a cleanup to its end, whatever signal comes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from stager.errors import Stopped


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let cleanup be followed to its end: HUP and TERM wait, and so does Ctrl-C until it is pressed three times."""
    pressed = 0

    def count(signum: int, frame: object) -> None:
        nonlocal pressed
        pressed += 1
        if pressed >= 3:
            raise Stopped(signum, host_state="the host goes on restoring by itself", next="stager status")

    before = {signum: signal.signal(signum, count) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for signum, old in before.items():
            signal.signal(signum, old)
