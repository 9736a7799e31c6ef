"""The ``prepare`` commands: each ends with all that it started, as soon as the run is not to go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stager.onhost import preparing, processes
from stager.onhost.faults import Fenced, Refused

MARK = "STAGER_TEST_PREPARE=%s"


def left(mark: str) -> set[int]:
    """The processes that carry a mark in their environment."""
    return processes.with_environment(mark.encode())


def script(mark: str) -> list[str]:
    """A command that starts another one and waits, both marked."""
    return ["/usr/bin/env", mark, "sh", "-c", "sleep 60 & sleep 60"]


def wait_for(mark: str) -> None:
    """Wait until both of them run."""
    end = time.monotonic() + 10
    while len(left(mark)) < 3 and time.monotonic() < end:
        time.sleep(0.01)


def test_a_command_under_way_ends_when_the_run_does(tmp_path: Path) -> None:
    """What says that the run is over ends the command, with its own child; and is passed on."""
    mark = MARK % tmp_path.name

    def over() -> None:
        wait_for(mark)
        raise Fenced("the run went on without us")

    began = time.monotonic()
    with pytest.raises(Fenced):
        preparing.prepare(
            str(tmp_path), [script(mark)], str(tmp_path / "log"), str(tmp_path / "home"), None, "run-1", over, 60.0
        )
    assert time.monotonic() - began < 15
    end = time.monotonic() + 5
    while left(mark) and time.monotonic() < end:
        time.sleep(0.01)
    assert left(mark) == set()


def test_a_command_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    """Its time is over: refused, and none of it is left."""
    mark = MARK % tmp_path.name
    with pytest.raises(Refused, match="timed out"):
        preparing.prepare(
            str(tmp_path),
            [script(mark)],
            str(tmp_path / "log"),
            str(tmp_path / "home"),
            None,
            "run-1",
            lambda: None,
            0.5,
        )
    end = time.monotonic() + 5
    while left(mark) and time.monotonic() < end:
        time.sleep(0.01)
    assert left(mark) == set()


def test_a_command_that_fails_is_refused_with_its_words(tmp_path: Path) -> None:
    """The end of its output says why."""
    with pytest.raises(Refused, match="no such wheel"):
        preparing.prepare(
            str(tmp_path),
            [["sh", "-c", "echo no such wheel; exit 3"]],
            str(tmp_path / "log"),
            str(tmp_path / "home"),
            None,
            "run-1",
            lambda: None,
            60.0,
        )
