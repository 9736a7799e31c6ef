"""Ids of runs, jobs and builds are never broken over lines, at any width."""

from __future__ import annotations

import pytest
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stager.cli.main import main
from stager.cli.output import Output
from tests.unit.cli.test_evidence_commands import RUN, home, keep

__all__ = ["home"]  # a fixture

RUN_ID = "20261129t221530-1a2b3c"
BUILD = "cd34" * 3


@pytest.mark.parametrize("columns", ["20", "40", "80", "200"])
@pytest.mark.parametrize("command", [["evidence", "list"], ["compare", RUN, RUN], ["runs"], ["show", RUN]])
def test_a_commands_ids(
    home: object,
    command: list[str],
    columns: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever lists, compares or shows runs prints their ids whole, on a narrow terminal and in a pipe."""
    monkeypatch.setenv("COLUMNS", columns)
    assert main(command) == 0
    assert RUN in capsys.readouterr().out


def test_no_column_is_lost(home: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the ids leave no room the lines get longer; attempt, samples and time are still there."""
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["evidence", "list"]) == 0
    words = capsys.readouterr().out
    assert all(column in words.split() for column in ("digest", "claim", "#", "verdict", "n", "run", "when"))
    assert " 240 " in words


@pytest.mark.parametrize("columns", ["20", "80"])
def test_the_documents_own_names(
    home: object, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evidence show` prints digest and build in full, each on one line."""
    monkeypatch.setenv("COLUMNS", columns)
    digest = keep(home)[0].build_id  # type: ignore[arg-type]
    assert main(["evidence", "list", "--probe", "overlap"]) == 0
    first = next(line.split()[0] for line in capsys.readouterr().out.splitlines() if RUN in line)
    assert main(["evidence", "show", first]) == 0
    assert digest in capsys.readouterr().out


def test_other_columns_give_way_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences fold around the ids, inside groups and paddings too, and a table that has room is left as it is."""
    monkeypatch.setenv("COLUMNS", "60")
    table = Table("run", "build", "says", box=None)
    table.add_row(RUN_ID, Text(BUILD), "a sentence that is longer than what is left of the line by far")
    Output().show(Padding(table, (0, 2)))
    lines = capsys.readouterr().out.splitlines()
    assert any(RUN_ID in line and BUILD in line for line in lines)
    assert max(len(line.rstrip()) for line in lines) <= 60
