"""A unit that waits for its next failed start is called activating by systemd; for us it is down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stager.onhost import closing, decide, units

# `systemctl show` of a unit with Restart=always, RestartSec=60 and a program that fails, on systemd 252.
RECORDED = units.parse((Path(__file__).parent / "recorded" / "crash-loop.txt").read_text())[0]
LOOP = units.state_of(RECORDED)
BEFORE = dict(LOOP, active="active", sub="running", result="success")


class Still:
    """Services that stand as they were recorded."""

    def look(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """The recorded state for each."""
        return dict.fromkeys(names, LOOP)


def test_a_crash_loop_is_started_not_taken_for_restored() -> None:
    """Ours to start: nothing of it runs; a unit that really is on its way up is left to come."""
    assert decide.for_unit(LOOP, BEFORE, None, True, True, False).action == "start"
    coming = dict(LOOP, sub="start-pre")
    assert decide.for_unit(coming, BEFORE, None, True, True, False).action == "up"


def test_a_start_that_ends_in_a_crash_loop_was_not_obeyed() -> None:
    """The recorded unit did not come up."""
    assert not units.came_up(RECORDED)
    assert units.came_up(dict(RECORDED, SubState="start"))


@pytest.mark.parametrize("before", [BEFORE, dict(BEFORE, sub="exited")])
def test_a_crash_loop_is_not_production_as_it_was(before: dict[str, Any]) -> None:
    """The comparison at the end names it, in systemctl's words."""
    compared = closing.compare(Still(), {"loop.service": before}, [])  # type: ignore[arg-type]
    assert [entry["what"] for entry in compared["not_restored"]] == ["loop.service"]
    assert "activating (auto-restart)" in compared["not_restored"][0]["why"]
