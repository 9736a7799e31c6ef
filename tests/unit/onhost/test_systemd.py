"""Reading systemd: recorded answers of three generations, and what is concluded from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.onhost import survey
from stager.onhost import units as told
from stager.onhost.cap import span_seconds

RECORDED = Path(__file__).with_name("recorded")
NAMES = ["prod.service", "watchdog.timer", "broken.service", "two.service", "off.service", "nosuch.service"]


@pytest.fixture(params=["247", "252", "257"])
def units(request: pytest.FixtureRequest) -> dict[str, told.Unit]:
    """The units as `systemctl show` of this version printed them."""
    blocks = told.parse((RECORDED / f"systemd-{request.param}.txt").read_text())
    assert len(blocks) == len(NAMES)
    return dict(zip(NAMES, blocks, strict=True))


def test_every_state_is_told_apart(units: dict[str, told.Unit]) -> None:
    """Running, waiting, failed, exited and still active, inactive, not there."""
    told = {name: (unit["LoadState"], unit["ActiveState"], unit["SubState"]) for name, unit in units.items()}
    assert told == {
        "prod.service": ("loaded", "active", "running"),
        "watchdog.timer": ("loaded", "active", "waiting"),
        "broken.service": ("loaded", "failed", "failed"),
        "two.service": ("loaded", "active", "exited"),
        "off.service": ("loaded", "inactive", "dead"),
        "nosuch.service": ("not-found", "inactive", "dead"),
    }


def test_the_recorded_state_is_complete(units: dict[str, told.Unit]) -> None:
    """Load, active, sub, enablement, InvocationID, result and control group are what a journal keeps."""
    state = told.state_of(units["prod.service"])
    assert state["enabled"] == "enabled"
    assert len(state["invocation"]) == 32
    assert state["cgroup"] == "/system.slice/prod.service"
    assert told.state_of(units["broken.service"])["result"] == "exit-code"


def test_a_field_that_stands_twice_is_joined(units: dict[str, told.Unit]) -> None:
    """Two ExecStart lines and two EnvironmentFiles lines are all there."""
    two = units["two.service"]
    assert two["ExecStart"].count("path=/bin/true") == 2
    assert "/etc/prod.env" in two["EnvironmentFiles"]
    assert "/etc/maybe.env" in two["EnvironmentFiles"]


def test_missing_files_are_found(units: dict[str, told.Unit]) -> None:
    """The EnvironmentFile that must be there is a reason; the optional one is none; a binary that is there is none."""
    reasons = survey.missing_files("two.service", units["two.service"])
    assert len([why for why in reasons if "/etc/prod.env" in why]) == 1
    assert not [why for why in reasons if "maybe.env" in why]
    assert not [why for why in reasons if "binary" in why]


def test_what_a_start_would_drag_in(units: dict[str, told.Unit]) -> None:
    """prod wants off.service, which does not run: a start must leave it out."""
    assert survey.drags("prod.service", units) == ["off.service"]
    assert survey.drags("off.service", units) == []


def test_problems_of_a_healthy_unit_are_none(units: dict[str, told.Unit]) -> None:
    """A unit whose file and binary are there can be stopped; one that does not run needs nothing."""
    here = dict(units["prod.service"], FragmentPath=__file__)
    assert survey.problems(here) == []
    assert survey.problems(units["off.service"]) == []
    assert survey.problems(units["nosuch.service"]) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"ActiveState": "activating"}, "transition"),
        ({"Job": "17 restart"}, "transition"),
        ({"FragmentPath": "/etc/systemd/system/nowhere.service"}, "gone"),
        ({"LoadState": "masked"}, "masked"),
        ({"NeedDaemonReload": "yes"}, "daemon-reload"),
        ({"RefuseManualStop": "yes"}, "refuses"),
    ],
)
def test_what_could_not_come_back(units: dict[str, told.Unit], changes: dict[str, str], word: str) -> None:
    """Each reason against stopping a running unit is told in words."""
    unit = dict(units["prod.service"], FragmentPath=__file__) | changes
    reasons = survey.problems(unit)
    assert any(word in why for why in reasons), reasons


def test_the_closure_does_not_walk_through_targets() -> None:
    """What a target wants is the system's own business, unless the target was named."""
    units = {
        "a.service": {"Wants": "x.target b.service"},
        "x.target": {"Wants": "c.service"},
        "b.service": {"Wants": "d.service a.service"},
    }
    assert survey.closure(["a.service"], units, ("Wants",)) == {"x.target", "b.service", "d.service"}
    assert survey.closure(["x.target"], units, ("Wants",)) == {"c.service"}


def test_units_are_put_in_the_order_of_their_own_after() -> None:
    """Each behind those it comes after, by whatever name it was asked for; a circle ends; the rest stays as given."""
    units = {
        "alias.service": {"Id": "router.service", "After": "sysinit.target engine.service"},
        "engine.service": {"Id": "engine.service", "After": "pool.mount basic.target"},
        "lone.service": {"Id": "lone.service", "After": ""},
        "pool.mount": {"Id": "pool.mount", "After": "router.service"},
    }
    assert told.by_after(["lone.service", "alias.service", "engine.service"], units) == [
        "lone.service",
        "engine.service",
        "alias.service",
    ]
    assert sorted(told.by_after(sorted(units), units)) == sorted(units)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h 30min 23.333s", 5423.333),
        ("5min", 300.0),
        ("1w 2d 3h", 7 * 86400 + 2 * 86400 + 3 * 3600),
        ("250ms", 0.25),
        ("1month 1us", 2629800.000001),
        ("infinity", None),
        ("", None),
    ],
)
def test_time_spans(text: str, seconds: float | None) -> None:
    """systemd's way to write a span is read back, or said to be none."""
    read = span_seconds(text)
    assert read == (None if seconds is None else pytest.approx(seconds))
