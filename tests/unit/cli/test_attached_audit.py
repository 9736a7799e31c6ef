"""Findings kept beside a run's evidence: seen wherever the run is told, and never counted by the gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stager.cli.main import main
from stager.evidence.records import Records
from stager.evidence.store import Store
from tests.unit.cli.test_audit_command import SERVER, source
from tests.unit.cli.test_evidence_commands import RUN, home, keep, run

__all__ = ["home", "source"]  # fixtures

FIELD = "batch_limit"


@pytest.fixture
def attached(home: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The controller's folder, after an audit of a small server was attached to its one run."""
    assert main(["audit", str(source), "--attach", RUN[:8]]) == 0
    assert f"attached to run {RUN}: 2 claims" in capsys.readouterr().out
    return home


def test_they_stand_below_the_evidence(attached: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`evidence show` names each as claimed by source, apart from the document, which stays as it was."""
    document = Store(attached).search()[0][0]

    assert main(["evidence", "show", document.sha256[:12]]) == 0
    words = capsys.readouterr().out
    assert "configured (claimed by source)" in words
    assert words.index(FIELD) > words.index("did not prove")

    _, told = run(capsys, "evidence", "show", document.sha256[:12])
    (audit,) = told["claimed_by_source"]
    assert {(claim["what"], claim["name"]) for claim in audit["claims"]} == {
        ("serialiser", "gen_lock"),
        ("field", FIELD),
    }
    assert told["configured"] == document.evidence.document()["configured"]


@pytest.mark.parametrize("command", [["worklog", RUN], ["show", RUN]])
def test_they_stand_in_what_tells_the_run(
    attached: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The worklog and `show` name them, with the line of source and that it is no evidence."""
    assert main(command) == 0
    words = " ".join(capsys.readouterr().out.replace("\\", "").split())
    assert "onfigured (claimed by source" in words
    assert "never evidence" in words
    assert "serve.py:13" in words


def test_they_stand_in_the_report(attached: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has a part of its own for them, which says that no gate reads it."""
    assert main(["report", RUN, "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    part = page[page.index("Configured (claimed by source)") :]
    assert part.index(FIELD) < part.index("</section>")
    assert "no gate reads them" in part
    capsys.readouterr()


def test_the_gate_does_not_count_them(attached: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate's answer is the same with and without them, whether it says yes or no."""
    with_claims = [run(capsys, "gate", "cd34")]
    for document in (attached / "evidence").rglob("*/overlap/generating/*.json"):
        document.unlink()  # what was measured is gone; the source still says "batch_limit: 4"
    with_claims.append(run(capsys, "gate", "cd34" * 16))

    assert [(code, told["verdict"]) for code, told in with_claims] == [(0, "promote"), (7, "refuse")]
    assert "overlap/generating" in with_claims[1][1]["missing"]
    assert "batch_limit" not in json.dumps(with_claims)


def test_verifying_again_keeps_them(attached: Path) -> None:
    """They outlive every new writing of the run's record, and are kept once, however often they are attached."""
    records = Records(attached)
    before = records.claimed_by_source(RUN)
    keep(attached)  # saves the record anew, as `verify` does
    records.save(records.load_whole(RUN, Store(attached)))
    records.attach(before[0])

    assert records.claimed_by_source(RUN) == before
    assert "audit" not in (records.root / RUN / "record.json").read_text()


def test_a_run_that_is_not_known(source: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that is not here is wrong use, told before anything is read."""
    (source / "serve.py").write_text(SERVER)
    assert main(["audit", str(source), "--attach", "1999"]) == 2
    said = capsys.readouterr()
    assert "gen_lock" not in said.out
    assert "next: stager runs" in said.err


def test_a_damaged_file_is_named(attached: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An attached audit that does not load is named, and the run's own record can still be loaded."""
    (path,) = (attached / "runs" / RUN).glob("audit-*.json")
    path.chmod(0o644)
    path.write_text("{}")

    assert main(["worklog", RUN]) == 1
    assert path.name in capsys.readouterr().err
    assert Records(attached).load(RUN).run_id == RUN
