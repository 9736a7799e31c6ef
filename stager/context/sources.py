"""Find out what kind of file a model is described by, and read it: GGUF or ``config.json``, here or on a host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stager.context import gguf, gguf_model, hf
from stager.context.architecture import Architecture
from stager.errors import InvalidFile

#: ``read_range(path, offset, size)`` reads a file on a host: up to ``size`` bytes, fewer only at its end.
ReadRange = Callable[[str, int, int], bytes]

_LARGEST_CONFIG = 4 << 20


@dataclass(frozen=True, slots=True)
class Described:
    """A model's architecture, and the bytes its file has (None where the file is a description without weights)."""

    architecture: Architecture
    weights: int | None


def describe_local(path: Path) -> Described:
    """Read a GGUF file, a ``config.json``, or the folder that holds one.

    Raises:
        InvalidFile: no such file, or it is neither.
    """
    if path.is_dir():
        path = path / "config.json"
    try:
        with path.open("rb") as file:

            def read(offset: int, size: int) -> bytes:
                file.seek(offset)
                return file.read(size)

            architecture, holds_weights = _describe(read, str(path))
            return Described(architecture, path.stat().st_size if holds_weights else None)
    except OSError as error:
        raise InvalidFile(f"{path}: {error.strerror or error}.") from None


def describe_remote(path: str, read_range: ReadRange, *, size: int | None = None) -> Described:
    """Read a description on a host through ranged reads of 1 MiB; ``size`` is the file's, where it is known.

    Raises:
        InvalidFile: it is neither GGUF nor a ``config.json``.
    """

    def read(offset: int, count: int) -> bytes:
        return read_range(path, offset, count)

    architecture, holds_weights = _describe(read, path)
    return Described(architecture, size if holds_weights else None)


def _describe(read: gguf.Read, name: str) -> tuple[Architecture, bool]:
    if read(0, len(gguf.MAGIC)) == gguf.MAGIC:
        return gguf_model.architecture(gguf.read_metadata(read, name=name), source=name), True
    return hf.parse(read(0, _LARGEST_CONFIG), source=name), False
