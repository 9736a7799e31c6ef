"""``stager calibrate`` on the command line."""

import json

from stager.cli.main import main


def test_it_writes_the_contracts_document_and_exits_0(capsys) -> None:
    """One quick probe against its liars: all caught, the honest engine passed, exit code 0 inside and outside."""
    code = main(["calibrate", "--probe", "function", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert code == document["exit_code"] == 0
    assert {"jitter_ms_p99", "events_per_second"} <= set(document["client"])
    assert all(row["caught"] and row["probe"] == "function" for row in document["liars"])
    assert [row["verdict"] for row in document["honest"]] == ["passed", "passed"]


def test_every_column_has_a_title(capsys) -> None:
    """The table names what each of its columns says, also the one that says caught or passed."""
    assert main(["calibrate", "--probe", "function"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["engine", "probe", "verdict", "result", "s"]
    assert any("caught" in line for line in lines)


def test_an_unknown_probe_is_wrong_use(capsys) -> None:
    """A probe that does not exist is named, with those that do, and nothing is run."""
    code = main(["calibrate", "--probe", "nonsense"])

    assert code == 2
    assert "overlap" in capsys.readouterr().err
