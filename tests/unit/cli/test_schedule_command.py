"""``stager schedule`` as it is typed: what is shown, written, listed, paused, claimed and removed."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stager.cli.main import main
from stager.fleet import install

PLAYBOOK = """
stager: 1
name: batch4
guard: {deadline: 12h}
host: {address: gpu1}
candidate:
  launch: [/bin/serve, "{port}"]
  engine: llama.cpp
  port: 18080
  secrets: [HF_TOKEN]
  ready: {timeout: 1m}
  stop: {grace: 5s}
  limits: {runtime: RUNTIME}
production: {manager: systemd, services: [a.service], healthy: {url: "http://127.0.0.1:8080/v1", within: 60s}}
probes: {overlap: {time_limit_s: LIMIT}}
"""


def playbook_text(runtime: str, limit: float) -> str:
    return PLAYBOOK.replace("RUNTIME", runtime).replace("LIMIT", str(limit))


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    """A playbook whose run may last a quarter of an hour: a probe of ten minutes."""
    path = tmp_path / "batch4.yaml"
    path.write_text(playbook_text("1h", 600.0))
    return path


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for units, and a `systemctl` that agrees to everything."""
    program = tmp_path / "systemctl"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(install, "SYSTEM_UNITS", tmp_path / "units")
    return tmp_path / "units"


def stager(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    """Run a command with --json; return its code, its document and what it told people."""
    code = main(["schedule", *words, "--json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


def add(playbook: Path, *more: str) -> list[str]:
    words = ["--at", "01:30", "--until", "06:00", "--timezone", "Europe/Berlin", "--mechanism", "systemd"]
    return ["add", str(playbook), *words, *more]


def test_a_dry_run_shows_and_writes_nothing(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """What would be written is shown, and the machine is as before."""
    code, document, text = stager(capsys, *add(playbook, "--dry-run"))

    assert code == 0
    assert "OnCalendar=*-*-* 01:30:00 Europe/Berlin" in text
    assert f"run {playbook} --until 06:00" in text
    assert document["written"] is False
    assert not units.exists()
    assert stager(capsys, "list")[1] == {"schedules": []}


def test_a_dry_run_where_nothing_would_run_it(
    capsys: pytest.CaptureFixture[str], playbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be written is shown all the same, under a warning; without --dry-run it is refused (4)."""
    monkeypatch.setattr(install, "systemd_there", lambda: False)
    monkeypatch.setattr(install.crontab, "daemon_runs", lambda: False)
    words = ["add", str(playbook), "--at", "01:30", "--until", "06:00", "--timezone", "UTC"]

    code, document, text = stager(capsys, *words, "--dry-run")
    refused, error, _ = stager(capsys, *words)

    assert code == 0
    assert (document["kind"], document["written"]) == ("cron", False)
    assert "--- crontab, added lines" in text
    assert "warning: Nothing would ever run this schedule" in text
    assert document["trouble"].startswith("Nothing would ever run this schedule")
    assert (refused, error["error"]["message"]) == (4, document["trouble"].splitlines()[0])
    assert stager(capsys, "list")[1] == {"schedules": []}


def test_from_add_to_remove(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """A schedule is written, listed, and taken away without a trace."""
    code, document, _ = stager(capsys, *add(playbook, "--days", "mon-fri"))
    listed = stager(capsys, "list")[1]["schedules"]
    written = sorted(path.name for path in units.iterdir())
    removed, _, _ = stager(capsys, "remove", "batch4")

    assert (code, removed) == (0, 0)
    assert document["schedule"]["worst"] == "14m10s"
    assert [(item["name"], item["host"], item["trouble"]) for item in listed] == [("batch4", "gpu1", "")]
    assert written == ["stager-nightly-batch4.service", "stager-nightly-batch4.timer"]
    assert list(units.iterdir()) == []
    assert stager(capsys, "list")[1] == {"schedules": []}


def test_missing_secrets_are_said(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """A timer has none of the operator's environment; which values will be missing is said, and how to give them."""
    _, _, without = stager(capsys, *add(playbook, "--dry-run"))
    _, _, given = stager(capsys, *add(playbook, "--dry-run", "--env-file", "/etc/stager/secrets"))

    assert "HF_TOKEN will be missing; give --env-file" in without
    assert "HF_TOKEN" not in given
    assert "EnvironmentFile=/etc/stager/secrets" in given


def test_a_run_too_long_for_the_window(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """A worst case longer than the window is refused with exit 4, and nothing is written."""
    playbook.write_text(playbook_text("5h", 18000.0))
    code, document, _ = stager(capsys, *add(playbook))

    assert code == 4
    assert "The nights are too short" in document["error"]["message"]
    assert document["error"]["next"] == "stager schedule list"
    assert not units.exists()


def test_a_second_schedule_on_the_host(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """A schedule that would meet another on its host is refused, and the same name twice as well."""
    stager(capsys, *add(playbook))
    clash, document, _ = stager(capsys, *add(playbook, "--name", "other"))
    again, twice, _ = stager(capsys, *add(playbook))

    assert (clash, again) == (4, 2)
    assert "Schedule batch4 uses gpu1 at the same time" in document["error"]["message"]
    assert twice["error"]["next"] == "stager schedule remove batch4"


def around_now(playbook: Path) -> list[str]:
    """The words for a window that is open now and for hours."""
    now = datetime.now(UTC)
    bounds = ["--at", f"{now - timedelta(minutes=5):%H:%M}", "--until", f"{now + timedelta(hours=5):%H:%M}"]
    return ["add", str(playbook), *bounds, "--timezone", "UTC", "--mechanism", "systemd"]


def test_one_start_a_night(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """The first question of a night is answered with yes, every later one with no."""
    stager(capsys, *around_now(playbook))
    first, answer, _ = stager(capsys, "due", "batch4")
    second, no, _ = stager(capsys, "due", "batch4")

    assert (first, answer["starts"]) == (0, True)
    assert (second, no["starts"]) == (4, False)
    assert "already had its run" in no["reason"]


def test_paused_and_resumed(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """A paused schedule starts nothing until it is resumed."""
    stager(capsys, *around_now(playbook))
    stager(capsys, "pause", "batch4")
    paused, answer, _ = stager(capsys, "due", "batch4")
    stager(capsys, "resume", "batch4")
    resumed, _, _ = stager(capsys, "due", "batch4")

    assert (paused, resumed) == (4, 0)
    assert "stager schedule resume batch4" in answer["reason"]


def test_a_playbook_that_grew_is_asked_anew(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """What counts at night is the playbook as it is then, not as it was when the schedule was added."""
    stager(capsys, *around_now(playbook))
    playbook.write_text(playbook_text("10h", 36000.0))
    code, answer, _ = stager(capsys, "due", "batch4")

    assert code == 4
    assert "worst case is 10h" in answer["reason"]


def test_cron_hears_no_old_news(capsys: pytest.CaptureFixture[str], playbook: Path, units: Path) -> None:
    """Asked by cron, a second time in a night says nothing at all, so that nobody gets mail."""
    stager(capsys, *around_now(playbook))
    main(["schedule", "due", "batch4", "--cron"])
    capsys.readouterr()
    code = main(["schedule", "due", "batch4", "--cron"])
    captured = capsys.readouterr()

    assert code == 4
    assert captured.out + captured.err == ""


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--at", "25:00", "--until", "06:00"], 2, "no time of day"),
        (["--at", "01:30", "--until", "01:30"], 2, "differs from its start"),
        (["--at", "01:30", "--until", "06:00", "--timezone", "Europe/Nowhere"], 2, "Unknown time zone"),
        (["--at", "01:30", "--until", "06:00", "--days", "someday"], 2, "is no day"),
        (["--at", "01:30", "--until", "06:00", "--jitter", "5"], 2, "--jitter"),
        (["--at", "01:30", "--until", "06:00", "--name", "../x"], 2, "is no schedule's name"),
    ],
)
def test_what_it_refuses(
    capsys: pytest.CaptureFixture[str], playbook: Path, words: list[str], code: int, says: str
) -> None:
    """Wrong words are exit 2, each with what was expected."""
    found, document, _ = stager(capsys, "add", str(playbook), "--mechanism", "systemd", "--dry-run", *words)

    assert found == code
    assert says in document["error"]["message"]


def test_an_unknown_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    """Removing what is not there is wrong use."""
    assert stager(capsys, "remove", "nothing")[0] == 2


def test_the_morning_after_a_refusal(
    capsys: pytest.CaptureFixture[str], playbook: Path, units: Path, tmp_path: Path
) -> None:
    """A night that was refused is in the morning's answer, in each form, and its exit code is 4."""
    stager(capsys, *around_now(playbook))
    record = json.loads((path := next((Path(os.environ["STAGER_HOME"]) / "schedules").glob("*/*.json"))).read_text())
    record["schedule"]["added"] = "2026-01-01T00:00:00+00:00"
    path.write_text(json.dumps(record))
    playbook.write_text(playbook_text("10h", 36000.0))
    stager(capsys, "due", "batch4")
    files = ["--markdown", str(tmp_path / "m.md"), "--html", str(tmp_path / "m.html")]
    code, document, text = stager(capsys, "morning", "--since", "2h", *files, "--notify", f"tee {tmp_path}/told")

    assert code == 4
    (night,) = document["nights_without_a_run"]
    assert "worst case is 10h" in night["reason"]
    assert "Nights without a run" in text
    assert (tmp_path / "m.md").read_text() in text
    assert "Nights without a run" in (tmp_path / "m.html").read_text()
    assert json.loads((tmp_path / "told").read_text()) == document


def test_nobody_was_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A notification that fails is said, and a quiet night is then no success."""
    code, document, text = stager(capsys, "morning", "--notify", "false")

    assert (code, document["exit_code"]) == (1, 0)
    assert "nobody was told: false ended with 1" in text


@pytest.mark.parametrize("words", [["--since", "yesterday"], ["--webhook-file", "/nowhere"]])
def test_what_the_morning_refuses(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """A time that is none, and a file that is not there, are wrong use."""
    assert stager(capsys, "morning", *words)[0] == 2
