"""A run whose first record never reached the disk: said so, and struck off."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.onhost import closing, looking, opening
from stager.onhost.channel import named
from stager.onhost.faults import Fault
from stager.onhost.journal import Journal
from stager.onhost.state import Index, Run


@pytest.fixture
def struck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Index:
    """An index of its own, with the run in it; the host's legs are not touched."""
    index = Index(str(tmp_path / "open"))
    index.add("run", {})
    monkeypatch.setattr(closing, "Index", lambda: index)
    monkeypatch.setattr(closing.legs, "disarm", lambda run: None)
    return index


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run's folder."""
    run = Run(str(tmp_path), "run")
    run.make()
    return run


@pytest.mark.parametrize("text", ["", '{"seq": 0, "kind": "no'], ids=["empty", "torn"])
def test_a_journal_without_a_first_record_is_told_and_struck_off(run: Run, struck: Index, text: str) -> None:
    """Status says so, verbs that name the run hear so, and the next run that opens frees the host."""
    Path(run.journal_path).write_text(text)
    assert looking.describe(run)["state"] == "never begun"
    with pytest.raises(Fault, match="never begun"):
        named(run.state, "run")
    opening.strike_off(run)
    assert struck.entries() == []


def test_a_journal_whose_first_record_is_spoilt_still_holds_the_host(run: Run, struck: Index) -> None:
    """Records came after it: something was begun, and nobody may take the host as if it had not been."""
    journal = Journal.create(run.journal_path, spec={})
    journal.append("intent", "unit.stop", {"op": "unit.start"})
    with open(run.journal_path, "r+b") as file:
        file.write(b"#")
    opening.strike_off(run)
    assert [entry["run_id"] for entry in struck.entries()] == ["run"]
