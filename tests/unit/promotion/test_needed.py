"""What a playbook must say before anything is promoted by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.clock import SystemClock
from stager.errors import InvalidFile
from stager.loading import load_playbook
from stager.promotion.switch import Switch

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
