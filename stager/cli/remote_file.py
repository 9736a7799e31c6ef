"""Read the beginning of a file on a host over one ``cat``, and no more of it than is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stager.errors import InvalidFile
from stager.host.base import Host, Pipe

_STEP = 1 << 18


class RemoteFile:
    """The bytes received so far; asking for later ones reads on. Going back costs nothing."""

    def __init__(self, pipe: Pipe, path: str) -> None:
        self._pipe = pipe
        self._path = path
        self._data = bytearray()
        self._ended = False

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``; fewer only at the file's end.

        Raises:
            InvalidFile: the host cannot read the file, in its own words.
            Unreachable: the connection broke.
        """
        assert path == self._path
        while len(self._data) < offset + size and not self._ended:
            part = self._pipe.read(_STEP)
            self._data += part
            self._ended = not part
        if self._ended and self._pipe.exit_status(10) != 0:
            raise InvalidFile(f"{path}: {self._pipe.stderr_tail().strip() or 'the host could not read it'}.")
        return bytes(self._data[offset : offset + size])


@contextmanager
def remote_file(host: Host, path: str) -> Iterator[RemoteFile]:
    """Open a file on the host for reading from its start; what was not asked for is not sent."""
    pipe = host.open(["cat", "--", path])
    try:
        yield RemoteFile(pipe, path)
    finally:
        pipe.close()


def remote_size(host: Host, path: str) -> int | None:
    """Return the file's size in bytes, or None where the host's ``stat`` does not say it."""
    pipe = host.open(["stat", "-L", "-c", "%s", "--", path])
    try:
        answer = bytearray()
        while part := pipe.read(_STEP):
            answer += part
    finally:
        pipe.close()
    text = answer.decode("ascii", "replace").strip()
    return int(text) if text.isdecimal() else None
