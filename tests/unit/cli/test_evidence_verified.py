"""``stager evidence verify`` where something is damaged, or nothing is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stager.cli.main import main
from tests.unit.cli.test_evidence_commands import CLAIMS, keep, run


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A controller that has verified one build."""
    monkeypatch.setenv("STAGER_HOME", str(tmp_path))
    keep(tmp_path)
    return tmp_path / "evidence"


def test_a_changed_document_is_counted_among_all(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a byte of a document changed, it is one of those that do not hold, and the gate says only that of it."""
    path = next(store.rglob("overlap/generating/0001-*.json"))
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b" ")

    assert main(["evidence", "verify"]) == 6
    assert f"{len(CLAIMS) - 1} of {len(CLAIMS)} documents hold" in capsys.readouterr().out
    _, answer = run(capsys, "gate", "cd34")
    about = [reason for reason in answer["reasons"] if reason.startswith("overlap/generating")]
    assert len(about) == 1
    assert "cannot be relied on" in about[0]


def test_nothing_checked_is_nothing_that_holds(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any evidence verify says so, and is exit 6."""
    shutil.rmtree(store)

    assert main(["evidence", "verify"]) == 6
    assert "There is no evidence here: nothing was checked" in capsys.readouterr().out
