"""What does not forbid a run and is said before it."""

from __future__ import annotations

from typing import Any

import pytest

from stager.staging.preflight import warnings

SPEC: dict[str, Any] = {
    "production": {
        "service_names": ["prod"],
        "watchdog_names": ["dog"],
        "healthy": {"url": "x"},
        "drain": {"gauge": "x"},
    }
}


def facts(**active: str) -> dict[str, Any]:
    """A host whose units are in these states, and where nothing else is to be said."""
    return {"legs": {"boot": ""}, "survey": {"units": {name: {"active": state} for name, state in active.items()}}}


@pytest.mark.parametrize(("prod", "said"), [("inactive", True), ("failed", True), ("active", False)])
def test_production_that_does_not_run_is_said(prod: str, said: bool) -> None:
    """Where nothing of production runs, a run takes nothing down and proves no restore: a person should know."""
    found = warnings(SPEC, facts(prod=prod, dog="inactive"))

    assert found == (
        ["nothing of production runs now (prod, dog): there is nothing to stop or to bring back."] if said else []
    )


def test_one_that_runs_is_enough() -> None:
    """A watchdog alone is something to take down and bring back."""
    assert warnings(SPEC, facts(prod="inactive", dog="active")) == []
