"""``stager audit`` as it is typed: its document, its text, its Markdown, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stager.cli.main import main

SERVER = """
import asyncio
gen_lock = asyncio.Lock()


async def chat(engine):
    async with gen_lock:
        return await engine.generate("x")


@app.get("/health")
async def health():
    return {"batch_limit": 4}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with one small server."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "serve.py").write_text(SERVER)
    return folder


def test_the_contracts_keys(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document with the contract's keys, each finding with file, line and why; words go to stderr."""
    config = source.parent / "a.yaml"
    config.write_text("single_session_lock: true\n")
    assert main(["audit", str(source), "--config", str(config), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    for key in ("serialisers", "batch_defaults", "fields", "dead_keys"):
        assert all({"file", "line", "why"} <= item.keys() for item in found[key])
    assert [(item["name"], item["line"]) for item in found["serialisers"]] == [("gen_lock", 3)]
    (field,) = found["fields"]
    assert {key: field[key] for key in ("name", "endpoint", "file", "line", "kind")} == {
        "name": "batch_limit",
        "endpoint": "/health",
        "file": "serve.py",
        "line": 13,
        "kind": "constant",
    }
    assert field["can_disagree"].startswith("Yes")
    assert [item["key"] for item in found["dead_keys"]] == ["single_session_lock"]
    assert "gen_lock" in said.err


def test_people_and_the_worklog(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without options the terminal's text, with --markdown a section for the worklog."""
    assert main(["audit", str(source)]) == 0
    assert "gen_lock  (lock)  serve.py:3" in capsys.readouterr().out
    assert main(["audit", str(source), "--markdown"]) == 0
    assert "- `gen_lock` (lock) at `serve.py:3`" in capsys.readouterr().out


def test_check_wants_every_finding_accepted(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check a serialiser that no comment accepts is exit 6; accepted it is 0."""
    assert main(["audit", str(source), "--check"]) == 6
    accepted = SERVER.replace("Lock()", "Lock()  # stager: accept serialiser - one user")
    (source / "serve.py").write_text(accepted)
    assert main(["audit", str(source), "--check"]) == 0
    capsys.readouterr()


def test_what_it_refuses(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that is not there is wrong use; a configuration file that is missing or broken is an invalid file."""
    assert main(["audit", str(source / "nowhere")]) == 2
    assert main(["audit", str(source), "--config", str(source / "none.yaml")]) == 3
    (source / "bad.json").write_text("{,}")
    assert main(["audit", str(source), "--config", str(source / "bad.json")]) == 3
    capsys.readouterr()


@pytest.mark.parametrize("words", [(), ("--check",), ("--config", "a.yaml")])
def test_nothing_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """A folder or file without any source is exit 2, with what was looked for; no audit passes by reading nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.yaml").write_text("max_batch: 4\n")
    for path in ("empty", "a.yaml"):
        assert main(["audit", path, *words]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{path}: nothing was audited, because no source file was read; looked for .py" in said
