"""``stager context`` as it is typed: numbers, files, files on a host, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stager.cli.main import main
from stager.cli.remote_file import remote_file, remote_size
from stager.errors import InvalidFile
from stager.host.local import LocalHost
from tests.unit.context.headers import write_header

NOTES = ["--layers", "64", "--full-attention-every", "4", "--kv-heads", "4", "--head-dim", "256", "--window", "262144"]
LINEAR = ["--linear-key-heads", "16", "--linear-value-heads", "48", "--linear-head-dim", "128"]
KEYS = {"block_count": 2, "context_length": 64, "attention.head_count": 2, "embedding_length": 64}


def test_the_contracts_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers of the contract give one document with the notes' sizes."""
    code = main(["context", *NOTES, *LINEAR, "--json"])
    found = json.loads(capsys.readouterr().out)

    assert code == 0
    assert (found["kv_layers"], found["bytes_per_token"]) == (16, 65_536)
    assert (found["formats"]["fp16"], found["formats"]["q8_0"], found["formats"]["q4_0"]) == (16.0, 8.5, 4.5)
    assert found["private_windows"]["4bit-ideal"]["4"] == 16.0
    assert found["recurrent_state_mib_per_sequence"] == 149.625


def test_people_see_the_table_and_the_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    """The text says what fits beside the weights, and that 4 at once and 240k cannot hold together."""
    main(["context", *NOTES, *LINEAR, "--card", "24GiB", "--weights", "12GiB", "--context", "240118"])
    text = capsys.readouterr().out

    assert "promises 65,536 tokens each; of requests of 240,118 tokens it holds 1 at once" in text
    assert "Cannot hold together: 4 requests of 240,118 tokens at once take 59.21 GiB of fp16 cache" in text
    assert "664,832" in text


def test_the_context_that_was_asked_for_is_the_one_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Table, chart and document are about --context, and that it is more than the native window comes before them."""
    words = ["context", *NOTES, "--card", "24GiB", "--weights", "12GiB", "--context", "524288", "--format", "q8_0"]
    assert main(words) == 0
    text = capsys.readouterr().out
    main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)

    exceeds = "524,288 tokens per request are more than the model's native window of 262,144"
    assert 0 < text.index(exceeds) < text.index("GiB of keys and values, for 524,288 tokens a window")
    assert "q8_0 34,816 17.00 34.00 68.00" in " ".join(text.split())
    assert "68.00 GiB  too much" in text
    assert found["private_window_tokens"] == 524_288
    assert found["private_windows"]["q8_0"]["1"] == 17.0
    assert found["formats"]["q8_0"] == 8.5  # for the native window, as ever


def test_a_unified_cache_is_judged_as_a_pool(capsys: pytest.CaptureFixture[str]) -> None:
    """With --unified the claims are held against one shared cache."""
    main(["context", *NOTES, "--unified", "--context", "240118", "--format", "q8_0/q4_0", "--json"])
    found = json.loads(capsys.readouterr().out)["ceiling"]

    assert list(found["formats"]) == ["q8_0/q4_0"]
    assert "the shared pool has 262,144" in found["formats"]["q8_0/q4_0"]["cannot_hold_together"][0]


@pytest.mark.parametrize("prefix", ["", "local:"])
def test_a_file_here_or_on_a_host(tmp_path: Path, capsys: pytest.CaptureFixture[str], prefix: str) -> None:
    """A GGUF file is read the same way here and on a host, its size taken as the weights'."""
    path = write_header(tmp_path / "m.gguf", "llama", KEYS)
    code = main(["context", f"{prefix}{path}", "--card", "1GiB", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert code == 0
    assert found["kv_layers"] == 2
    assert found["card"]["weights_gib"] == pytest.approx(path.stat().st_size / 2**30, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["context"], 2, "Give MODEL, or --layers and --window"),
        (["context", "m.gguf", *NOTES], 2, "not both"),
        (["context", *NOTES, "--format", "q3"], 2, "Unknown cache format 'q3'"),
        (["context", *NOTES, "--card", "24"], 2, "a size with its unit"),
        (["context", "/nowhere/m.gguf"], 3, "/nowhere/m.gguf: No such file"),
        (["context", "local:/nowhere/m.gguf"], 3, "/nowhere/m.gguf"),
    ],
)
def test_what_it_refuses(capsys: pytest.CaptureFixture[str], words: list[str], code: int, says: str) -> None:
    """Wrong use is exit 2, a file that cannot be read is exit 3, each with what is wrong."""
    assert main(words) == code
    assert says in capsys.readouterr().err


def test_a_large_remote_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    """Only as much comes over as was asked for, and a little read ahead."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"head")
        file.truncate(1 << 34)
    host = LocalHost()
    with remote_file(host, str(path)) as file:
        assert file.read_range(str(path), 0, 4) == b"head"
        assert file.read_range(str(path), 1 << 20, 2) == b"\0\0"
    assert remote_size(host, str(path)) == 1 << 34


def test_a_short_remote_file_ends(tmp_path: Path) -> None:
    """Reading past the end gives what there is; going back is possible."""
    path = tmp_path / "short"
    path.write_bytes(b"0123456789")
    with remote_file(LocalHost(), str(path)) as file:
        assert file.read_range(str(path), 4, 100) == b"456789"
        assert file.read_range(str(path), 0, 4) == b"0123"


def test_a_missing_remote_file_is_named(tmp_path: Path) -> None:
    """The host's own words say why it cannot be read."""
    path = str(tmp_path / "missing")
    with remote_file(LocalHost(), path) as file, pytest.raises(InvalidFile, match="No such file"):
        file.read_range(path, 0, 4)
    assert remote_size(LocalHost(), path) is None
