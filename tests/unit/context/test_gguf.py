"""The GGUF header reader against the reference writer and reader."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import gguf as reference
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stager.context.gguf import read_metadata
from stager.errors import InvalidFile
from tests.unit.context.headers import write_header

KEYS = {
    "block_count": 64,
    "rope.freq_base": 1e6,
    "causal": True,
    "general.name": "näme",
    "attention.head_count_kv": [4, 0, 4],
    "attention.sliding_window_pattern": [True, False, True],
}


def read_bytes(data: bytes):
    return lambda offset, size: data[offset : offset + size]


@pytest.mark.parametrize("big_endian", [False, True])
def test_reads_what_the_reference_writes(tmp_path: Path, big_endian: bool) -> None:
    """Every kind of value comes back as the reference reader gives it, in both byte orders."""
    path = write_header(tmp_path / "m.gguf", "qwen35", KEYS, big_endian=big_endian)
    expected = {
        name: field.contents()
        for name, field in reference.GGUFReader(path).fields.items()
        if not name.startswith("GGUF.")
    }

    assert read_metadata(read_bytes(path.read_bytes())) == expected


def test_long_lists_are_walked_over_quickly(tmp_path: Path) -> None:
    """A vocabulary of 248,000 tokens is left out, and costs a few seconds at most."""
    words = [f"word{index}" for index in range(248_000)]
    keys = {"tokenizer.ggml.tokens": words, "tokenizer.ggml.token_type": [1] * len(words), "block_count": 3}
    data = write_header(tmp_path / "m.gguf", "llama", keys).read_bytes()
    started = time.perf_counter()
    metadata = read_metadata(read_bytes(data))

    assert metadata["llama.block_count"] == 3
    assert "tokenizer.ggml.tokens" not in metadata
    assert time.perf_counter() - started < 5


def test_only_the_header_is_read(tmp_path: Path) -> None:
    """Of a file with a large body no more than its first chunk is asked for."""
    path = write_header(tmp_path / "m.gguf", "llama", KEYS)
    data = path.read_bytes() + bytes(8 << 20)
    asked: list[tuple[int, int]] = []

    def read(offset: int, size: int) -> bytes:
        asked.append((offset, size))
        return data[offset : offset + size]

    read_metadata(read)

    assert max(offset + size for offset, size in asked) <= 1 << 20


def test_another_file_is_named() -> None:
    """A file that is no GGUF is refused by name."""
    with pytest.raises(InvalidFile, match=r"model\.bin: not a GGUF file"):
        read_metadata(read_bytes(b"PK\x03\x04 and more"), name="model.bin")


def test_an_unknown_version_is_refused() -> None:
    """A version this reader does not know is not guessed at."""
    with pytest.raises(InvalidFile, match="version 9"):
        read_metadata(read_bytes(b"GGUF" + (9).to_bytes(4, "little") + bytes(16)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cut=st.integers(4, 10_000), flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4))
def test_a_damaged_header_is_an_invalid_file(tmp_path: Path, cut: int, flips: list[tuple[int, int]]) -> None:
    """A header that is cut short or altered is read or refused, never a crash or an endless loop."""
    path = tmp_path / "m.gguf"
    if not path.exists():
        write_header(path, "llama", KEYS)
    data = bytearray(path.read_bytes()[:400])
    for place, value in flips:
        data[place % len(data)] = value
    with contextlib.suppress(InvalidFile):
        read_metadata(read_bytes(bytes(data[: cut % len(data)])))


def test_a_cut_header_says_where(tmp_path: Path) -> None:
    """A file that ends within its header says at which byte."""
    data = write_header(tmp_path / "m.gguf", "llama", KEYS).read_bytes()[:60]

    with pytest.raises(InvalidFile, match="ends within its GGUF header"):
        read_metadata(read_bytes(data))
