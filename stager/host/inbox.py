"""What arrives on the channel: hello lines first, then frames, read by a thread that does nothing else."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

from stager.errors import Unreachable
from stager.host.base import Pipe
from stager.host.tail import Tail
from stager.onhost import protocol

#: Nothing a login shell prints before our first line is longer (bytes).
MAX_NOISE = 16 * 1024 * 1024


class End:
    """The far end closed the channel; ``why`` is None if it did so in good order."""

    def __init__(self, why: str | None = None) -> None:
        self.why = why


class Inbox:
    """A queue of messages, filled by a reading thread, closed by one ``End``.

    Until a hello line that is not the loader's, what arrives is lines; ``noise`` keeps the end of those that are
    not ours, for the words of an error.
    """

    def __init__(self, pipe: Pipe, nonce: str) -> None:
        self.noise = Tail(4096)
        self._pipe = pipe
        self._mark = nonce.encode() + b" "
        self._rest = b""
        self._queue: queue.SimpleQueue[dict[str, Any] | End] = queue.SimpleQueue()
        threading.Thread(target=self._pump, name="inbox", daemon=True).start()

    def take(self, timeout: float) -> dict[str, Any] | End | None:
        """Return the next message, or None after ``timeout`` seconds without one."""
        try:
            message = self._queue.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None
        if isinstance(message, End):
            self._queue.put(message)  # it stays the last word for everybody who asks
        return message

    def _pump(self) -> None:
        try:
            began = self._lines()
            while began and (message := protocol.read_frame(self._read)) is not None:
                self._queue.put(message)
            self._queue.put(End())
        except (Unreachable, protocol.ProtocolError, OSError, ValueError) as error:
            self._queue.put(End(str(error)))

    def _read(self, size: int) -> bytes:
        """Read through a buffer: one read for a frame's length and its body."""
        if not self._rest:
            self._rest = self._pipe.read(65536)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def _lines(self) -> bool:
        """Read up to the program's hello; False if the output ended before it."""
        seen = 0
        pending = b""
        while True:
            data = self._pipe.read(65536)
            if not data:
                self.noise.feed(pending)
                return False
            pending += data
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                seen += len(line)
                if line.startswith(self._mark):
                    hello = json.loads(line[len(self._mark) :])
                    self._queue.put(hello)
                    if "loader" not in hello:
                        self._rest = pending
                        return True
                else:
                    self.noise.feed(line + b"\n")
            if seen + len(pending) > MAX_NOISE:
                raise protocol.ProtocolError(f"the host printed over {MAX_NOISE >> 20} MiB and no hello of ours")
