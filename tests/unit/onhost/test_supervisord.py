"""The lines that supervisorctl prints, and what is read in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stager.onhost import processes
from stager.onhost.supervisord import Supervisord


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A supervisorctl that prints what stands in this file and ends with 3, as the real one does for what is down."""
    script = tmp_path / "supervisorctl"
    script.write_text(f"#!/bin/sh\ncat {tmp_path}/says\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "says"


@pytest.mark.parametrize(
    ("line", "active", "invocation"),
    [
        ("prod                             STOPPED   Nov 29 10:10 PM", "inactive", "down Nov 29 10:10 PM"),
        ("prod                             STOPPED   Not started", "inactive", ""),
        ("prod                             EXITED    Nov 29 10:11 PM", "inactive", "down Nov 29 10:11 PM"),
        ("prod                             STARTING  ", "activating", ""),
        (
            "prod                             BACKOFF   Exited too quickly (process log may have details)",
            "activating",
            "",
        ),
        ("prod                             FATAL     Exited too quickly (process log may have details)", "failed", ""),
        ("prod                             STOPPING  ", "deactivating", ""),
    ],
)
def test_a_line_is_a_state(says: Path, line: str, active: str, invocation: str) -> None:
    """Each of supervisord's states has its place, and what is down is known by when it went down."""
    says.write_text(line + "\n")

    state = Supervisord().state("prod")

    assert (state["active"], state["invocation"], state["load"]) == (active, invocation, "loaded")


def test_a_running_program_is_known_by_its_process(says: Path) -> None:
    """The pid alone may be somebody else's tomorrow: its start time belongs to it."""
    me = processes.me()
    says.write_text(f"group:prod                       RUNNING   pid {me['pid']}, uptime 0:01:02\n")

    state = Supervisord().state("group:prod")

    assert (state["active"], state["invocation"]) == ("active", f"{me['pid']}:{me['start']}")


@pytest.mark.parametrize("word", ["prod: ERROR (no such process)", "prod: ERROR (no such group)"])
def test_a_program_that_is_not_there_is_told_apart(says: Path, word: str) -> None:
    """Not known to supervisord is something else than stopped."""
    says.write_text(word + "\n")

    state = Supervisord().state("prod")

    assert (state["active"], state["load"]) == ("inactive", "not-found")


def test_no_answer_is_no_state(says: Path) -> None:
    """Where supervisord itself is down nothing is known, and preflight says so."""
    says.write_text("unix:///run/supervisor.sock no such file\n")

    services = Supervisord()

    assert services.state("prod")["active"] == "unknown"
    assert services.survey(["prod"])["units"]["prod"]["problems"] == [
        "prod cannot be asked for: unix:///run/supervisor.sock no such file"
    ]
