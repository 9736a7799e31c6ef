"""GGUF files for tests, written by the ``gguf`` package: metadata alone, or small models with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy

KIB = 1024


def write_header(path: Path, arch: str, keys: dict[str, Any], *, big_endian: bool = False) -> Path:
    """Write metadata and one empty-handed tensor; integers, floats, booleans, strings and lists."""
    endian = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer = gguf.GGUFWriter(path, arch, endianess=endian)
    for key, value in keys.items():
        add(writer, key if "." in key and key.split(".")[0] in ("general", "tokenizer") else f"{arch}.{key}", value)
    writer.add_tensor("token_embd.weight", numpy.zeros((4, 32), dtype=numpy.float32))
    close(writer)
    return path


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """Add one value under its natural type."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def close(writer: gguf.GGUFWriter) -> None:
    """Write everything out."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
