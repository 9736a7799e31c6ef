"""The commands that judge and show: gate, evidence, report, compare, worklog, on a real store."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stager.cli.main import main
from stager.evidence.records import Records
from stager.evidence.store import Provenance, Store
from stager.models.evidence import Evidence, Measurement, Vantage, Verdict
from stager.probes.catalog import suite_digest
from tests.unit.reports.cases import HOST, finding, overlap_raw, record

BUILD = "cd34" * 16
RUN = "20261129T030000Z-7c1e"
CLAIMS = (
    ("overlap", "generating"),
    ("overlap", "executing"),
    ("cancel", "decoding"),
    ("cancel", "prefilling"),
    ("cancel", "queued"),
    ("health", "readable"),
)

needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (Debian: openssh-client)"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A controller that has verified one build: all claims of the default policy passed in one launch an hour ago."""
    monkeypatch.setenv("STAGER_HOME", str(tmp_path / "home"))
    keep(tmp_path / "home")
    return tmp_path / "home"


def keep(home: Path, **changes: Any) -> list[Evidence]:
    """Keep what the default policy asks for, with some parts changed, and the run's record."""
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    store, kept = Store(home), []
    measured = {"generating_at_once": Measurement(value=4, unit="count")}
    for probe, claim in CLAIMS:
        times = {"started_at": now - timedelta(seconds=9), "ended_at": now}
        made = finding(claim, sample_count=240, measurements=measured, **times | changes)
        provenance = Provenance(
            probe=probe,
            probe_version=1,
            suite_digest=suite_digest(),
            build_id=BUILD,
            run_id=RUN,
            host=HOST,
            vantage=Vantage(client="controller", path="direct", path_latency_ms=0.1, client_jitter_ms=0.2),
            launch="inv-a",
        )
        kept.append(store.add(made, overlap_raw(serial=False), provenance).evidence)
    Records(home).save(record(evidence=tuple(kept), baseline=()))
    return kept


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Run a command with --json; return its code and its one document."""
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_show_tells_what_production_was_measured_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose measurement of production failed shows that, and why; a run without one says nothing of it."""
    assert main(["show", RUN]) == 0
    assert "measured the same way" not in capsys.readouterr().out

    Records(home).save(record(run_id="20261129t040000-0000", evidence=()))
    assert main(["show", "20261129t040000-0000"]) == 0
    said = capsys.readouterr().out
    assert "overlap/generating on production, llama.service: failed\n" in said
    assert "because 4 streams were accepted and generated one after the other\n" in said


def test_one_damaged_record_hides_no_other(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists go on with a warning that names the file; who asks for just that run is told what can still be read."""
    path = Records(home).save(record(run_id="20261129t040000-0000", evidence=(), baseline=()))
    path.write_text("{")

    for words in (["runs"], ["worklog", "--last", "1"]):
        assert main(words) == 0
        said = capsys.readouterr()
        assert RUN in said.out
        assert f"warning: What is recorded of run 20261129t040000-0000 is damaged: {path}: Invalid JSON" in said.err
    for words in (["show", "20261129t04"], ["report", "20261129t04"], ["compare", RUN, "20261129t04"]):
        code, document = run(capsys, *words)
        assert code == 1
        assert (document["error"]["file"], document["error"]["host_state"]) == (str(path), "untouched")
        assert document["error"]["next"] == "stager evidence list --run 20261129t040000-0000"
    code, _ = run(capsys, "schedule", "morning", "--since", "2026-11-29T05:00+00:00")
    assert code != 1
    assert run(capsys, "schedule", "morning", "--since", "2026-11-29T03:30+00:00")[0] == 1


def test_the_gate_promotes_and_answers_in_the_contracts_keys(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 with verdict, reasons, evidence_used and missing in one document."""
    code, document = run(capsys, "gate", "cd34")

    assert (code, document["verdict"], document["reasons"], document["missing"]) == (0, "promote", [], [])
    assert [(used["probe"], used["claim"]) for used in document["evidence_used"]] == list(CLAIMS)


def test_the_gate_refuses_with_7_and_every_reason(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A newer failure of every claim is a refusal for each, for people and for scripts alike."""
    now = datetime.now(UTC)
    keep(home, started_at=now, ended_at=now, verdict=Verdict.FAILED, reasons=("they waited",))

    assert main(["gate", "cd34"]) == 7
    shown = " ".join(capsys.readouterr().out.split())
    code, document = run(capsys, "gate", "cd34")

    assert shown.startswith("REFUSE build cd34cd34cd34… under policy default")
    assert (code, document["verdict"], len(document["missing"])) == (7, "refuse", len(CLAIMS))
    assert sum("outranks the older pass" in reason for reason in document["reasons"]) == len(CLAIMS)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("gate", "ffff"), 2),
        (("gate", "ab12" * 16), 7),
        (("gate", "cd34", "--incumbent", "cd34"), 7),
        (("gate", "cd34", "--policy", "/nonexistent.yaml"), 3),
        (("report", "zzz"), 2),
        (("compare", RUN, "zzz"), 2),
        (("report", RUN, "-o", "/nonexistent/page.html"), 2),
        (("evidence", "show", "zzz"), 2),
        (("evidence", "list", "--run", "zzz"), 2),
        (("evidence", "verify", "--signers", "/nonexistent"), 3),
        (("evidence", "export", RUN, "--key", "/nonexistent"), 2),
    ],
)
def test_what_cannot_be_done_has_its_exit_code(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int
) -> None:
    """Unknown names are wrong use, bad files are 3, a build without evidence is 7; each with one JSON document."""
    found, document = run(capsys, *words)

    assert found == code
    assert document.get("error", {}).get("code", code) == code


def test_evidence_is_listed_shown_and_checked(home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """List gives digests, show takes the beginning of one, verify checks all, and raw samples come back."""
    _, listed = run(capsys, "evidence", "list", "--run", RUN[:6])
    digest = listed["evidence"][0]["sha256"]
    code, document = run(capsys, "evidence", "show", digest[:10], "--raw", str(tmp_path / "raw.json"))
    checked, summary = run(capsys, "evidence", "verify")

    assert len(listed["evidence"]) == len(CLAIMS)
    assert (code, document["sha256"], document["verdict"]) == (0, digest, "passed")
    assert (tmp_path / "raw.json").read_bytes() == overlap_raw(serial=False)
    assert (checked, summary["checked"], summary["faults"], summary["unreliable"]) == (0, len(CLAIMS), [], [])


def test_people_see_whose_evidence_it_is(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The full document in words: build, launch, vantage, parameters, and what was not proven."""
    _, listed = run(capsys, "evidence", "list")
    main(["evidence", "show", listed["evidence"][0]["sha256"]])
    text = " ".join(capsys.readouterr().out.split())

    for words in ("launch inv-a", "client jitter 0.2 ms", "streams = 4", "did not prove", BUILD[:40]):
        assert words in text


def test_changed_raw_samples_are_found_and_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a byte of the raw samples changed, verify exits 6 and the gate 7, and both say which file."""
    path = next((home / "evidence").rglob("overlap/generating/raw-*.gz"))
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    checked, summary = run(capsys, "evidence", "verify")
    code, answer = run(capsys, "gate", "cd34")
    shown, error = run(capsys, "evidence", "show", summary["faults"][0]["sha256"], "--raw", str(home / "raw"))

    assert checked == shown == 6
    assert "another digest" in error["error"]["message"]
    assert "are not those it was stored with" in summary["faults"][0]["faults"][0]
    assert code == 7
    assert path.name in answer["reasons"][0]


@needs_ssh_keygen
def test_evidence_is_signed_and_a_policy_can_ask_for_it(
    home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With signers in the policy the gate refuses until the run is exported with an allowed key."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f"ops@example.org {key.with_suffix('.pub').read_text()}")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "stager: 1\nname: signed\nmax_age: 1d\nclaims: [{probe: overlap, claim: generating}]\n"
        f"signers: [{json.dumps(allowed.read_text().strip())}]\n"
    )

    before, _ = run(capsys, "gate", "cd34", "--policy", str(policy))
    _, exported = run(capsys, "evidence", "export", RUN, "--key", str(key))
    after, answer = run(
        capsys, "gate", "cd34", "--policy", str(policy), "--sign", str(key), "-o", str(tmp_path / "out")
    )
    checked, summary = run(capsys, "evidence", "verify", "--signers", str(allowed))

    assert (before, after, checked) == (7, 0, 0)
    assert len(exported["files"]) == 2
    assert answer["evidence_used"][0]["signed_by"] == ["ops@example.org"]
    assert {entry["principals"] for entry in summary["signed"]} == {"ops@example.org"}
    assert len(list((tmp_path / "out").glob("gate-*.dsse.json"))) == 1


def test_a_report_is_one_file(home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The page lands where it is asked for, with its plots, or in the run's folder."""
    code, document = run(capsys, "report", RUN[:8], "-o", str(tmp_path / "page.html"))
    _, other = run(capsys, "report", RUN)

    assert (code, document["file"]) == (0, str(tmp_path / "page.html"))
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert Path(other["file"]) == home / "runs" / RUN / "report.html"
    assert Path(other["file"]).read_text() == (tmp_path / "page.html").read_text()


def test_a_taint_found_later_shows_everywhere(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evidence of a tainted run is marked in the report and the worklog, and refused by the gate."""
    Store(home).taint(BUILD, RUN, "the release's files changed while it ran")

    _, report = run(capsys, "report", RUN)
    main(["worklog"])

    assert "The run is tainted: the release&#x27;s files changed" in Path(report["file"]).read_text()
    assert capsys.readouterr().out.count("* **tainted**, counts for nothing") == len(CLAIMS)
    code, answer = run(capsys, "gate", "cd34")
    assert code == 7
    assert all("the run is tainted" in reason for reason in answer["reasons"])


def test_runs_are_compared(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs of two builds are set side by side under a warning."""
    Records(home).save(record(run_id="20261130T030000Z-1111", build_id="ab12" * 16))

    code, document = run(capsys, "compare", "20261129", "20261130")

    assert code == 0
    assert "Two builds" in document["warnings"][0]
    assert {row["what"] for row in document["rows"]} >= {"verdict", "n", "ended because", "generating at once"}


def test_the_worklog_is_markdown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run is an entry on stdout; without runs that is said."""
    assert main(["worklog"]) == 0
    assert "### overlap/generating: passed" in capsys.readouterr().out
    code, document = run(capsys, "worklog", "--last", "1")
    assert (code, [entry["run_id"] for entry in document["entries"]]) == (0, [RUN])
    shutil.rmtree(home)
    main(["worklog"])
    assert capsys.readouterr().out == "No runs yet.\n"
