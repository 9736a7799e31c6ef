"""Finding out what describes a model, here and through ranged reads from a host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stager.context.sources import describe_local, describe_remote
from stager.errors import InvalidFile
from tests.unit.context.headers import write_header
from tests.unit.context.test_hf import COMMON

KEYS = {"block_count": 2, "context_length": 64, "attention.head_count": 2, "embedding_length": 64}


def test_a_gguf_file_brings_its_weights(tmp_path: Path) -> None:
    """A GGUF file's own size is what its weights take."""
    path = write_header(tmp_path / "m.bin", "llama", KEYS)
    found = describe_local(path)

    assert found.architecture.kv_layers == 2
    assert found.weights == path.stat().st_size


def test_a_folder_means_its_config(tmp_path: Path) -> None:
    """A model's folder is described by its config.json, which says nothing about the weights."""
    (tmp_path / "config.json").write_text(json.dumps(COMMON))
    found = describe_local(tmp_path)

    assert found.architecture.kv_layers == 8
    assert found.weights is None


@pytest.mark.parametrize("name", ["missing.gguf", "folder"])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    """A missing file, or a folder without config.json, is named."""
    (tmp_path / "folder").mkdir()

    with pytest.raises(InvalidFile, match=name):
        describe_local(tmp_path / name)


def test_on_a_host_only_the_header_travels(tmp_path: Path) -> None:
    """A large file on a host is described by two small reads of it."""
    data = write_header(tmp_path / "m.gguf", "llama", KEYS).read_bytes() + bytes(16 << 20)
    travelled = 0

    def read_range(path: str, offset: int, size: int) -> bytes:
        nonlocal travelled
        assert path == "/srv/m.gguf"
        part = data[offset : offset + size]
        travelled += len(part)
        return part

    found = describe_remote("/srv/m.gguf", read_range, size=len(data))

    assert found.architecture.kv_layers == 2
    assert found.weights == len(data)
    assert travelled < 1.1 * (1 << 20)


def test_a_config_on_a_host() -> None:
    """A config.json on a host is read whole."""
    data = json.dumps(COMMON).encode()
    found = describe_remote("/srv/config.json", lambda path, offset, size: data[offset : offset + size])

    assert found.architecture.kv_layers == 8


def test_a_split_model_weighs_all_its_parts(tmp_path: Path) -> None:
    """The parts beside the first are counted here; on a host, where only one is seen, the weights are not known."""
    first = write_header(tmp_path / "m [x]-00001-of-00002.gguf", "llama", KEYS)
    (tmp_path / "m [x]-00002-of-00002.gguf").write_bytes(bytes(1000))
    (tmp_path / "m [x]-00001-of-00003.gguf").write_bytes(bytes(5000))
    data = first.read_bytes()

    assert describe_local(first).weights == len(data) + 1000
    assert describe_remote(str(first), lambda path, at, size: data[at : at + size], size=len(data)).weights is None
