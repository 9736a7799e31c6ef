"""Where no journal can be kept nothing is stopped, and nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import Scene


@pytest.fixture
def scene(tmp_path: Path, machines: Callable[..., list[Machine]]) -> Scene:
    """A host whose state folder has a small disk of its own, with our program on it already."""
    (machine,) = machines(1, state_mib=48)
    lay(machine)
    scene = Scene(tmp_path, machine)
    assert scene.stager("cleanup", scene.stage()).code == 0
    return scene


def refused(scene: Scene, word: str) -> None:
    """A stage is refused with 4 for this reason, and the host is as it was."""
    runs = scene.runs()

    said = scene.stager("stage", str(scene.desk.playbook))

    assert said.code == 4, said.err
    assert word in said.document["error"]["message"]
    assert said.document["error"]["host_state"] == "untouched"
    assert scene.runs() == runs
    assert scene.open_runs() == []
    assert scene.differences() == []


def test_a_full_disk(scene: Scene) -> None:
    """There is no space for the run's journal: 4, nothing stopped, nothing left."""
    assert scene.machine.state
    scene.machine.state.fill()
    refused(scene, "No space left on device")


def test_a_read_only_state_folder(scene: Scene) -> None:
    """The disk has turned read-only: 4, nothing stopped, nothing left."""
    assert scene.machine.state
    scene.machine.state.break_read_only()
    refused(scene, "Read-only file system")


def test_a_folder_that_is_not_ours(scene: Scene) -> None:
    """The state folder's place is taken by a file: 4, nothing stopped, nothing left."""
    scene.machine.sh("touch", "/srv/taken")
    scene.desk.write(host={"state": "/srv/taken/state"})
    said = scene.stager("stage", str(scene.desk.playbook))
    assert said.code == 4, said.err
    assert scene.differences() == []


def test_a_guard_that_cannot_arm(scene: Scene) -> None:
    """It takes the host and can be granted no fence: 4, nothing stopped; once that is mended the host is free."""
    fence = "/var/lib/stager/fence"
    scene.machine.sh("mv", fence, fence + ".away")
    scene.machine.sh("mkdir", fence)
    refused(scene, "Is a directory")
    scene.machine.sh("rmdir", fence)
    scene.machine.sh("mv", fence + ".away", fence)

    assert scene.stager("cleanup", scene.stage()).code == 0
    assert scene.differences() == []
