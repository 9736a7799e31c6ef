"""Promotion on real systemd hosts: gate, switch, proof, confirmation; whatever falls short goes back by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.promoting import BROKEN, Promoting
from tests.lab.rig.machine import Machine


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Promoting:
    """A host with the tiny server in production, served through a link."""
    return Promoting(tmp_path, machine)


def test_promote_then_again_then_rollback(scene: Promoting) -> None:
    """The build goes into production through the link; a second time the gate says it is there; rollback goes back."""
    build = scene.shown()

    said = scene.promote(build)
    assert said.code == 0, said.err
    assert said.document["verdict"] == "promoted"
    assert said.document["build_id"] == build
    assert 0 < said.document["downtime_seconds"] < 10
    assert scene.on_new() == []

    again = scene.promote(build)
    assert again.code == 7
    assert "production" in again.document["error"]["message"]

    back = scene.roll_back()
    assert back.code == 0, back.err
    assert back.document["build_id"] == "unknown"
    assert back.document["before"] == build
    assert scene.on_old() == []


@pytest.mark.parametrize("how", BROKEN)
def test_a_build_that_does_not_hold_goes_back_by_itself(scene: Promoting, how: str) -> None:
    """What was well on its own port and is not on production's: production is back on the old one, and it is said."""
    scene.release(4, BROKEN[how])
    scene.plan({"healthy_for": "3s"})
    build = scene.shown()

    said = scene.promote(build)

    assert said.code == 5, said.err
    assert said.document["error"]["host_state"].startswith("restored; production as before, it was down for ")
    assert scene.on_old() == []
