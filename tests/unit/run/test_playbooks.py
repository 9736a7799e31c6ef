"""A playbook is checked down to its probes before anything is connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import InvalidFile
from stager.run.playbooks import load_runnable

TEXT = """stager: 1
name: small
host: {address: local}
candidate: {launch: [/usr/bin/server, --port, "{port}"]}
production: {manager: systemd}
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("probes: {overlop: {}}", "did you mean `overlap`"),
        ("probes: {overlap: {streams: 4, max_tokens: 1}}", "probes/overlap/max_tokens"),
        ("promotion: {link: /srv/current, probes: {truth: {round: 2}}}", "promotion/probes/truth/round"),
    ],
)
def test_a_probe_that_cannot_be_run_is_named_with_its_line(tmp_path: Path, more: str, said: str) -> None:
    """An unknown probe, a parameter out of its bounds, an unknown key: file, line and key path."""
    (tmp_path / "p.yaml").write_text(TEXT + more + "\n")

    with pytest.raises(InvalidFile) as caught:
        load_runnable(tmp_path / "p.yaml")

    assert said in caught.value.message
    assert "p.yaml:6:" in caught.value.message


def test_a_playbook_without_probes_is_no_mistake_here(tmp_path: Path) -> None:
    """Which probes a command needs is its own matter."""
    (tmp_path / "p.yaml").write_text(TEXT)

    assert load_runnable(tmp_path / "p.yaml").playbook.probes == {}
