"""The last of a stream, for the words of an error."""

from __future__ import annotations

import threading


class Tail:
    """Keeps the last ``limit`` bytes of what it is fed; safe between threads."""

    def __init__(self, limit: int = 16 * 1024) -> None:
        self._limit = limit
        self._bytes = bytearray()
        self._lock = threading.Lock()

    def feed(self, data: bytes) -> None:
        """Add bytes, dropping the oldest over the limit."""
        with self._lock:
            self._bytes += data
            del self._bytes[: -self._limit]

    def text(self) -> str:
        """Return what is kept, as text."""
        with self._lock:
            return bytes(self._bytes).decode("utf-8", "replace")
