"""`prepare` under way when the run is not to go on: it ends with all it started, and nothing was stopped for it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.lab.faults.controller import Controller
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.scene import PROD, Scene

SLEEP = "61733"  # seconds; a number by which it is found


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Scene:
    """A release whose preparation takes for ever."""
    lay(machine)
    return Scene(tmp_path, machine, candidate={"prepare": [["/bin/sh", "-c", f"sleep {SLEEP} & sleep {SLEEP}"]]})


def preparing(scene: Scene) -> Controller:
    """A controller that stages, in the middle of it."""
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    until(lambda: len(scene.pids_of(f"^sleep {SLEEP}")) == 2, "the preparation", 30)
    return controller


def test_it_ends_with_a_run_that_another_controller_ends(scene: Scene) -> None:
    """The fence moves on: the first controller is refused (11), no process of the preparation is left."""
    invocation = scene.unit(PROD, "InvocationID")
    controller = preparing(scene)

    assert scene.stager("cleanup", scene.open_runs()[0]).code == 0

    assert controller.wait(20) == 11, controller.words()
    until(lambda: not scene.pids_of(f"sleep {SLEEP}"), "the end of the preparation", 5)
    scene.wait_free()
    assert scene.unit(PROD, "InvocationID") == invocation
    assert scene.differences() == []


def test_it_ends_with_ctrl_c(scene: Scene) -> None:
    """The operator wants the host back: 130 within seconds, and no process of it is left."""
    controller = preparing(scene)

    controller.signal(signal.SIGINT)

    assert controller.wait(20) == 130, controller.words()
    until(lambda: not scene.pids_of(f"sleep {SLEEP}"), "the end of the preparation", 5)
    scene.wait_free()
    assert scene.differences() == []


def test_it_ends_with_the_lease(scene: Scene) -> None:
    """The controller is killed: when its lease is over the restore begins, and the preparation is gone."""
    controller = preparing(scene)

    controller.signal(signal.SIGKILL)

    until(lambda: not scene.pids_of(f"sleep {SLEEP}"), "the end of the preparation", 15)
    scene.wait_free()
    assert scene.differences() == []
