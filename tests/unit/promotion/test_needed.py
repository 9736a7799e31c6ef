"""What a playbook must say before anything is promoted by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.clock import SystemClock
from stager.errors import GateRefused, InvalidFile, UsageError
from stager.evidence.policies import load_policy
from stager.evidence.records import Records
from stager.loading import load_playbook
from stager.probes.catalog import CLAIMS
from stager.promotion.switch import Switch
from tests.unit.reports.cases import record

BARE = """
stager: 1
name: bare
host: {address: local}
candidate: {launch: [/bin/engine, --port, "{port}"], engine: openai, model: m}
production:
  manager: systemd
  services: [engine.service]
"""
HEALTHY = "  healthy: {url: 'http://127.0.0.1:8080/health'}\n"
PROMOTION = "promotion: {link: /srv/engine/current}\n"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (BARE, "promotion (what is switched) and production/healthy (how it is seen to work)"),
        (BARE + HEALTHY, "promotion (what is switched)"),
        (BARE + PROMOTION, "production/healthy (how it is seen to work)"),
    ],
)
def test_only_what_is_missing_is_asked_for(tmp_path: Path, text: str, missing: str) -> None:
    """A playbook without a promotion section or a health check is told which of them it lacks."""
    path = tmp_path / "p.yaml"
    path.write_text(text)

    with pytest.raises(InvalidFile) as caught:
        Switch(load_playbook(path), tmp_path, SystemClock(), lambda _: None, lambda _: None)
    assert caught.value.message == f"{path}: {missing} must be given for a promotion."


STAGED = ("cd34" * 16, "cd35" * 16)


@pytest.fixture
def switch(tmp_path: Path) -> Switch:
    """A promotion on a controller where two builds were staged and neither was measured."""
    path = tmp_path / "p.yaml"
    path.write_text(BARE + HEALTHY + PROMOTION)
    for number, build in enumerate(STAGED):
        Records(tmp_path).save(record(run_id=f"20261129t04000{number}-0000", build_id=build, evidence=(), baseline=()))
    return Switch(load_playbook(path), tmp_path, SystemClock(), lambda _: None, lambda _: None)


@pytest.mark.parametrize("typed", ["cd34", STAGED[0], "ab12" * 16], ids=["beginning", "whole", "never-staged"])
def test_a_build_without_evidence_is_named_with_what_shows_it(switch: Switch, typed: str) -> None:
    """The gate's no (7) says that nothing was shown of the build, and which command would show it; no host is asked."""
    with pytest.raises(GateRefused, match=f"Build {typed[:4]}.* has no evidence here") as caught:
        switch.promote(typed, load_policy(None, CLAIMS))

    assert caught.value.next == f"stager run {switch.loaded.path}"
    assert caught.value.details["gate"]["verdict"] == "refuse"


def test_a_beginning_of_several_staged_builds_lists_them(switch: Switch) -> None:
    """Builds without evidence are among the candidates of an ambiguous beginning."""
    with pytest.raises(UsageError, match=f"2 builds begin with cd3: {STAGED[0]}, {STAGED[1]}"):
        switch.promote("cd3", load_policy(None, CLAIMS))
