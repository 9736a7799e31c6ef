"""`stager fleet` as it is typed, while no worker runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stager.cli.main import main

TEXT = """
stager: 1
name: NAME
host: {address: HOST}
candidate:
  launch: [/bin/serve, "{port}"]
  engine: llama.cpp
  port: 18080
  limits: {runtime: 30m}
production: {manager: systemd, services: [a.service]}
probes: {overlap: {time_limit_s: 600}}
"""


@pytest.fixture
def playbook(tmp_path: Path) -> Callable[[str, str], str]:
    """`playbook(name, host)`: the path of one."""

    def make(name: str, host: str) -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(TEXT.replace("NAME", name).replace("HOST", host))
        return str(path)

    return make


@pytest.fixture
def fleet(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """`fleet(words)`: the exit code, the document, and what people read."""

    def call(*words: str, group: str = "fleet") -> tuple[int, dict[str, Any], str]:
        capsys.readouterr()
        code = main([group, *words, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return call


def test_submitting_without_a_worker_is_said_loudly(playbook: Any, fleet: Any) -> None:
    """The jobs are queued, and nobody can overlook that nothing will run them."""
    code, document, said = fleet("submit", playbook("a", "gpu1"), playbook("b", "gpu2"))

    assert code == 0
    assert "WARNING: NOTHING WILL RUN THIS: no worker serves the queue" in said
    assert document["queued"] is True
    assert document["warning"]
    (wave,) = document["waves"]
    _, status, _ = fleet("status")
    assert [job["job_id"] for job in reversed(status["jobs"])] == wave
    assert {job["state"] for job in status["jobs"]} == {"queued"}


def test_a_dry_run_queues_nothing(playbook: Any, fleet: Any) -> None:
    """The jobs are shown, and the queue stays empty."""
    code, document, said = fleet("submit", playbook("a", "gpu1"), "--dry-run")

    assert (code, document["queued"]) == (0, False)
    assert "a on gpu1" in said
    assert fleet("status")[1]["jobs"] == []


def test_a_playbook_that_is_wrong_queues_nothing(playbook: Any, fleet: Any, tmp_path: Path) -> None:
    """One mistake in one of several, and none is queued."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("stager: 1\nname: bad\n")

    assert fleet("submit", playbook("a", "gpu1"), str(bad))[0] == 3
    assert fleet("status")[1]["jobs"] == []


def test_cancelling_a_submission(playbook: Any, fleet: Any) -> None:
    """All jobs of a submission are cancelled by its name; a name too short, or unknown, is wrong use."""
    _, document, _ = fleet("submit", playbook("a", "gpu1"), playbook("b", "gpu2"))

    code, cancelled, _ = fleet("cancel", document["batch"])
    assert code == 0
    assert {job["state"] for job in cancelled["jobs"]} == {"cancelled"}
    assert fleet("cancel", "2")[0] == 2
    assert fleet("cancel", "nothing-of-that-name")[0] == 2


def test_a_night_is_added_shown_and_removed(playbook: Any, fleet: Any) -> None:
    """A night needs its end, has a name of its own, is refused where nothing fits, and goes again."""
    path = playbook("a", "gpu1")
    window = ("--at", "01:30", "--until", "06:00", "--timezone", "Europe/Berlin")
    assert fleet("submit", path, "--at", "01:30")[0] == 2
    assert fleet("submit", path, "--at", "01:30", "--until", "01:35")[0] == 4

    code, document, said = fleet("submit", path, *window, "--name", "big")
    assert (code, document["night"]) == (0, "big")
    assert "NOTHING WILL RUN THIS" in said
    assert fleet("submit", path, *window, "--name", "big")[0] == 2
    _, status, _ = fleet("status")
    assert [night["schedule"]["name"] for night in status["nights"]] == ["big"]
    assert status["jobs"] == []

    assert fleet("cancel", "big")[1]["night"] == "big"
    assert fleet("status")[1]["nights"] == []


def test_the_morning_names_jobs_that_nobody_carried_out(playbook: Any, fleet: Any) -> None:
    """A job that still lies in the queue is in the morning's answer, and makes it no success."""
    fleet("submit", playbook("a", "gpu1"))

    code, document, _ = fleet("morning", group="schedule")

    (left,) = document["nights_without_a_run"]
    assert code == 4
    assert (left["schedule"], left["host"]) == ("a", "gpu1")
    assert "still queued" in left["reason"]


def test_a_password_in_an_option_is_refused(fleet: Any) -> None:
    """The address of a database with its password is not taken from the command line, nor repeated."""
    code, document, said = fleet("status", "--database", "postgresql://me:secret@db/fleet")

    assert code == 2
    assert "secret" not in said + json.dumps(document)


def test_a_person_who_calls_carry_is_told(fleet: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command a worker starts for each run says whose it is."""
    empty = tmp_path / "empty"
    empty.write_text("")
    with empty.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code, document, _ = fleet("carry")

    assert code == 2
    assert "stager fleet worker" in document["error"]["message"]
