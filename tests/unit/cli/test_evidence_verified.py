"""``stager evidence verify`` where something is damaged, or nothing is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stager.cli.main import main
from stager.evidence.records import Records
from tests.unit.cli.test_evidence_commands import CLAIMS, keep, run
from tests.unit.reports.cases import record


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


def test_a_build_without_evidence_is_known_to_the_gate(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The beginning of a build that a run staged and that left no evidence is understood; the gate says what is so."""
    Records(store.parent).save(record(run_id="20261130t030000-1111", build_id="163164f2" * 8, evidence=()))

    assert main(["gate", "16"]) == 7
    assert "There is no evidence of build 163164f21631 here." in capsys.readouterr().err
    assert main(["gate", "17"]) == 2
    assert "There is no build here that begins with 17" in capsys.readouterr().err
