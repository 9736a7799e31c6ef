"""Read the metadata of a GGUF file, and nothing behind it; from a local file or through any ranged read.

Own code beside the ``gguf`` package on purpose: its reader builds arrays for every token of the vocabulary (16 s and
890 MB for 248,000 tokens where this takes a fraction of a second), and it needs the whole file. The tests hold this
reader against that package's writer and reader. Layout: ``docs/gguf.md`` of ggml.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from stager.errors import InvalidFile

#: ``read(offset, size)`` returns up to ``size`` bytes; fewer only at the end of the file.
Read = Callable[[int, int], bytes]

MAGIC = b"GGUF"
_CHUNK = 1 << 20
_LONGEST_STRING = 1 << 26  # a chat template is some 10 kB; anything near this is a broken file
_LONGEST_KEPT = 4096  # layer lists are kept, vocabularies are walked over
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_metadata(read: Read, *, name: str = "model") -> dict[str, Any]:
    """Return the metadata: scalars, strings and lists of at most 4,096 entries; longer lists are left out.

    Raises:
        InvalidFile: not GGUF, an unknown version or value type, or the file ends within its header.
    """
    cursor = _Cursor(read, name)
    if cursor.take(4) != MAGIC:
        raise InvalidFile(f"{name}: not a GGUF file (the first four bytes are not {MAGIC.decode()}).")
    version = cursor.number("I")
    if version & 0xFFFF == 0:  # written by a machine of the other byte order
        cursor.order = ">"
        version = struct.unpack(">I", struct.pack("<I", version))[0]
    if version not in (2, 3):
        raise InvalidFile(f"{name}: GGUF version {version} is not known (2 and 3 are).")
    cursor.number("Q")  # tensors, listed behind the metadata: not read
    values: dict[str, Any] = {}
    for _ in range(cursor.number("Q")):
        key = cursor.string()
        value = cursor.value(cursor.number("I"))
        if value is not None:
            values[key] = value
    return values


class _Cursor:
    """A position in the file over a buffer of one chunk."""

    def __init__(self, read: Read, name: str) -> None:
        self._read = read
        self._name = name
        self._buffer = b""
        self._at = 0  # within the buffer
        self._base = 0  # of the buffer within the file
        self.order = "<"

    def _need(self, size: int) -> None:
        if len(self._buffer) - self._at >= size:
            return
        self._base += self._at
        self._at = 0
        self._buffer = self._read(self._base, max(size, _CHUNK))
        if len(self._buffer) < size:
            raise InvalidFile(f"{self._name}: the file ends within its GGUF header, at byte {self._base}.")

    def take(self, size: int) -> bytes:
        self._need(size)
        self._at += size
        return self._buffer[self._at - size : self._at]

    def skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._buffer):
            self._base += self._at
            self._at = 0
            self._buffer = b""

    def number(self, code: str) -> int:
        return int(struct.unpack(self.order + code, self.take(struct.calcsize("<" + code)))[0])

    def _length(self) -> int:
        length = self.number("Q")
        if length > _LONGEST_STRING:
            raise InvalidFile(f"{self._name}: a string of {length} bytes in a GGUF header; the file is damaged.")
        return length

    def string(self) -> str:
        return self.take(self._length()).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:  # noqa: ANN401
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array(self.number("I"), self.number("Q"))
        code = self._code(kind)
        return struct.unpack(self.order + code, self.take(struct.calcsize("<" + code)))[0]

    def _array(self, kind: int, count: int) -> list[Any] | None:
        if count <= _LONGEST_KEPT:
            return [self.value(kind) for _ in range(count)]
        if kind == _STRING:
            for _ in range(count):
                self.skip(self._length())
        elif kind == _ARRAY:
            for _ in range(count):
                self.value(_ARRAY)
        else:
            self.skip(count * struct.calcsize("<" + self._code(kind)))
        return None

    def _code(self, kind: int) -> str:
        try:
            return _SCALARS[kind]
        except KeyError:
            raise InvalidFile(f"{self._name}: unknown GGUF value type {kind}; the file is damaged or newer.") from None
