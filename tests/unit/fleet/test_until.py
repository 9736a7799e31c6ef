"""`stager run --until`: refused where the worst case does not fit, capped where it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import InvalidFile, Refused
from stager.fleet.until import bounded, run_times
from stager.loading import LoadedPlaybook, load_playbook
from tests.unit.fleet.cases import utc

UNTIL = utc("2026-11-30 05:00")
TEXT = """
stager: 1
name: p
host: {address: local}
candidate:
  launch: [/bin/serve, "{port}"]
  engine: llama.cpp
  port: 18080
  ready: {timeout: 2m}
  stop: {grace: 10s}
  limits: {runtime: 2h}
production: {manager: systemd, services: [a.service], healthy: {url: "http://127.0.0.1:8080/v1", within: 80s}}
probes: PROBES
"""


def loaded(tmp_path: Path, probes: str = "{overlap: {time_limit_s: 600}}") -> LoadedPlaybook:
    path = tmp_path / "p.yaml"
    path.write_text(TEXT.replace("PROBES", probes))
    return load_playbook(path)


def test_the_probes_own_limits_count(tmp_path: Path) -> None:
    """The candidate's life is ready and the probes' limits with their stop, not its whole runtime."""
    times = run_times(loaded(tmp_path).playbook)

    assert times.life == 120 + 600 + 5
    assert times.after == 10 + 60 + 80 + 30


def test_a_run_that_fits_is_capped(tmp_path: Path) -> None:
    """The guard's deadline becomes what is left less the way back, and nothing else changes."""
    before = loaded(tmp_path)
    after = bounded(before, UNTIL, utc("2026-11-30 03:00"))

    assert after.playbook.guard.deadline == 2 * 3600 - 180
    assert after.playbook.candidate == before.playbook.candidate
    assert after.text == before.text


def test_a_deadline_that_ends_sooner_stays(tmp_path: Path) -> None:
    """The cap never makes a deadline longer than the playbook's."""
    assert bounded(loaded(tmp_path), UNTIL, utc("2026-11-29 06:00")).playbook.guard.deadline == 18000


def test_a_run_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Fifteen minutes before six nothing starts, with the numbers."""
    with pytest.raises(Refused, match="15m are left until 2026-11-30T05:00"):
        bounded(loaded(tmp_path), UNTIL, utc("2026-11-30 04:45"))


def test_what_cannot_be_bounded(tmp_path: Path) -> None:
    """A playbook without probes is refused as what it is."""
    with pytest.raises(InvalidFile):
        bounded(loaded(tmp_path, "{}"), UNTIL, utc("2026-11-30 03:00"))
