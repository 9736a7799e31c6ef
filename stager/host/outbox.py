"""Whole frames or none: what is sent goes out from a thread no signal interrupts.

Ctrl-C raises in the main thread wherever that is. In the midst of a write it would leave half a frame on the channel,
and the cleanup that follows speaks on that same channel.
"""

from __future__ import annotations

import queue
import threading

from stager.errors import StagerError, Unreachable
from stager.host.base import Pipe


class _Frame:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.done = threading.Event()
        self.error: StagerError | None = None


class Outbox:
    """Writes frames to a pipe in the order given."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._queue: queue.SimpleQueue[_Frame | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._pump, name="outbox", daemon=True)
        self._thread.start()

    def send(self, data: bytes) -> None:
        """Write one frame and wait until it is written; if the wait is interrupted, the frame still goes out whole.

        Raises:
            Unreachable: the pipe takes no more.
        """
        frame = _Frame(data)
        self._queue.put(frame)
        while not frame.done.wait(1.0):
            if not self._thread.is_alive() and not frame.done.is_set():  # closed by another thread just before
                raise Unreachable("The channel is closed.")
        if frame.error is not None:
            raise frame.error

    def close(self) -> None:
        """End the thread after what is under way."""
        self._queue.put(None)

    def _pump(self) -> None:
        while (frame := self._queue.get()) is not None:
            try:
                self._pipe.write(frame.data)
            except Unreachable as error:
                frame.error = error
            except Exception as error:  # noqa: BLE001 - a pipe closed meanwhile raises what it likes; somebody waits
                frame.error = Unreachable(f"The channel is closed ({error}).")
            frame.done.set()
