"""Find out what kind of file a model is described by, and read it: GGUF or ``config.json``, here or on a host."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stager.context import gguf, gguf_model, hf
from stager.context.architecture import Architecture
from stager.errors import InvalidFile

#: ``read_range(path, offset, size)`` reads a file on a host: up to ``size`` bytes, fewer only at its end.
ReadRange = Callable[[str, int, int], bytes]

_LARGEST_CONFIG = 4 << 20
#: How llama.cpp names the parts of a split model; the first part has the metadata.
_PART = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})\.gguf")


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
            return Described(architecture, _size(path) if holds_weights else None)
    except OSError as error:
        raise InvalidFile(f"{path}: {error.strerror or error}.") from None


def _size(path: Path) -> int:
    """Bytes of a GGUF file, with its siblings where it is one part of a split model."""
    part = _PART.fullmatch(path.name)
    if part is None:
        return path.stat().st_size
    siblings = path.parent.glob(f"{glob.escape(part['name'])}-*-of-{part['count']}.gguf")
    return sum(sibling.stat().st_size for sibling in siblings)


def describe_remote(path: str, read_range: ReadRange, *, size: int | None = None) -> Described:
    """Read a description on a host through ranged reads of 1 MiB; ``size`` is the file's, where it is known.

    Of a split model only one part is seen, so its weights are not known.

    Raises:
        InvalidFile: it is neither GGUF nor a ``config.json``.
    """

    def read(offset: int, count: int) -> bytes:
        return read_range(path, offset, count)

    architecture, holds_weights = _describe(read, path)
    whole = holds_weights and _PART.fullmatch(path.rpartition("/")[2]) is None
    return Described(architecture, size if whole else None)


def _describe(read: gguf.Read, name: str) -> tuple[Architecture, bool]:
    if read(0, len(gguf.MAGIC)) == gguf.MAGIC:
        return gguf_model.architecture(gguf.read_metadata(read, name=name), source=name), True
    return hf.parse(read(0, _LARGEST_CONFIG), source=name), False
