"""SIGTERM and SIGHUP end a command the way Ctrl-C does: by an exception, so that cleanup runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stager.errors import Stopped


def _stop(signum: int, _frame: FrameType | None) -> None:
    raise Stopped(signum)


@contextmanager
def stopping() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into ``Stopped`` while inside; a SIGHUP that is ignored (nohup) stays ignored."""
    before = {}
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:
            before[signum] = signal.signal(signum, _stop)
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
