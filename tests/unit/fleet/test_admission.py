"""May a run start, and when must the guard end it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from stager.fleet.admission import MEMORY_BACK, STEPS, admit, times_of
from stager.loading import load_playbook
from tests.unit.fleet.cases import TIMES, utc

UNTIL = utc("2026-11-30 05:00")


def test_the_worst_case_is_every_part() -> None:
    """Drain, ready, probes, grace, device memory, health and the host's own steps add up."""
    assert TIMES.worst == 120 + 600 + 3600 + 30 + MEMORY_BACK + 300 + 2 * STEPS


def test_unknown_probe_limits_mean_the_whole_runtime() -> None:
    """Where the probes' limits are not known, the candidate may live as long as its runtime."""
    assert replace(TIMES, probes=None).life == 14400
    assert replace(TIMES, probes=100_000).life == 14400


@pytest.mark.parametrize(("spare", "starts"), [(0, True), (-1, False), (60, True)])
def test_a_start_needs_room_for_the_worst_case(spare: float, starts: bool) -> None:
    """A run that would just end in time starts; a second less, and it does not."""
    now = UNTIL - timedelta(seconds=TIMES.worst + spare)

    assert admit(now, UNTIL, TIMES).starts is starts


def test_the_cap_leaves_room_for_the_way_back() -> None:
    """The hard cap is until less grace, device memory, health and steps."""
    assert admit(UNTIL - timedelta(hours=4), UNTIL, TIMES).cap == UNTIL - timedelta(seconds=30 + 60 + 300 + 30)


def test_a_refusal_says_its_numbers() -> None:
    """The reason names what is left, the worst case and its parts."""
    reason = admit(UNTIL - timedelta(minutes=30), UNTIL, TIMES).reason

    assert "30m are left until 2026-11-30T05:00+00:00" in reason
    assert "worst case is 1h19m" in reason
    assert "candidate 1h10m" in reason


def test_the_times_of_a_playbook(tmp_path: Path) -> None:
    """A playbook's own times are used."""
    path = tmp_path / "p.yaml"
    path.write_text(
        """
stager: 1
name: p
host: {address: local}
candidate:
  launch: [/bin/serve, "{port}"]
  engine: llama.cpp
  port: 18080
  ready: {timeout: 2m}
  stop: {grace: 7s}
  limits: {runtime: 20m}
production: {manager: systemd, services: [a.service], healthy: {url: "http://127.0.0.1:8080/v1", within: 90s}}
"""
    )
    times = times_of(load_playbook(path).playbook)

    assert (times.ready, times.grace, times.runtime, times.healthy, times.drain) == (120, 7, 1200, 90, 0)
