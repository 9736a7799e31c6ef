"""`rehearse` and `stage` say before production goes down what `doctor` would have said."""

from __future__ import annotations

from pathlib import Path

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import Scene


def test_what_should_be_known_before_is_said_before(tmp_path: Path, machine: Machine) -> None:
    """Every warning of preflight is told by whatever takes production down, in words and in the document."""
    lay(machine)
    scene = Scene(tmp_path, machine, production={"drain": None})
    path = str(scene.desk.playbook)
    warned = scene.stager("doctor", path).document["warnings"]
    assert any("production/drain is not given" in warning for warning in warned)

    rehearsed = scene.stager("rehearse", path)
    assert rehearsed.code == 0, rehearsed.err
    assert rehearsed.document["warnings"] == warned
    told = rehearsed.err.index("note: production/drain is not given")
    assert told < rehearsed.err.index("stopped prod.service")

    staged = scene.stager("stage", path)
    assert staged.code == 0, staged.err
    assert all(f"note: {warning}" in staged.err for warning in warned)
    assert scene.stager("cleanup", staged.document["run_id"]).code == 0
    assert scene.differences() == []
