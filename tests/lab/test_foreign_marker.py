"""A marker of somebody else's that appears in mid-run."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.scene import PROD, Scene

FOREIGN = "/run/llama/other.maintenance"
PAGE = "/opt/page"
PAGED = "/run/paged"


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Scene:
    """A host where somebody can be paged."""
    lay(machine)
    machine.write(PAGE, f'#!/bin/sh\necho "$1" >> {PAGED}\n', 0o755)
    return Scene(tmp_path, machine, guard={"notify": [PAGE, "{message}"]})


def test_hold_keeps_production_down_until_the_marker_is_gone(scene: Scene) -> None:
    """The run ends, production stays down with the guard armed (9), and back within a second of its going."""
    run_id = scene.stage()
    scene.machine.write(FOREIGN, "")
    scene.wait_verdict(run_id, "held", 10)

    assert scene.unit(PROD) == "inactive"
    assert not scene.pids_of("serve.py --port 18080")
    status = scene.stager("status", str(scene.desk.playbook))
    assert status.code == 9
    (run,) = (run for run in status.document["runs"] if run["run_id"] == run_id)
    assert run["state"] == "held: foreign marker"
    assert run["guard_legs"] == ["lease", "cap", "boot"]
    assert {"path": FOREIGN, "ours": False, "why": "was not made by this run"} in status.document["markers"]
    cleanup = scene.stager("cleanup", run_id)
    assert cleanup.code == 9, cleanup.err
    assert FOREIGN in cleanup.document["error"]["message"]
    assert FOREIGN in scene.machine.read(PAGED)
    assert scene.unit(PROD) == "inactive"

    scene.machine.path(FOREIGN).unlink()
    gone = time.monotonic()
    until(lambda: scene.unit(PROD) == "active", "production", 10)

    assert time.monotonic() - gone < 1.0
    scene.wait_verdict(run_id, "restored", 20)
    scene.wait_free()
    assert scene.differences() == []
    assert "restored" in scene.machine.read(PAGED).splitlines()[-1]


def test_restore_starts_production_against_it_and_leaves_it(scene: Scene) -> None:
    """With `on_foreign: restore` the run ends in order, production is back, the marker stays and is reported (8)."""
    markers = {"raise": ["maintenance"], "respect": ["/run/llama/*.maintenance"], "on_foreign": "restore"}
    scene.playbook(markers=markers, guard={"notify": [PAGE, "{message}"]})
    run_id = scene.stage()
    scene.machine.write(FOREIGN, "somebody's")

    verdict = scene.wait_verdict(run_id, "restored, something left", 20)

    assert verdict["code"] == 8
    assert [entry["path"] for entry in verdict["left"]] == [FOREIGN]
    assert scene.machine.read(FOREIGN) == "somebody's"
    scene.wait_free()
    assert scene.differences(but=("files",)) == []
    cleanup = scene.stager("cleanup", run_id)
    assert cleanup.code == 8, cleanup.err
    assert FOREIGN in cleanup.document["error"]["message"]


def test_a_held_run_survives_its_guard(scene: Scene) -> None:
    """The guard that waits for the marker is killed: its unit's end goes on waiting, and restores when it is gone."""
    run_id = scene.stage()
    scene.machine.write(FOREIGN, "")
    scene.wait_verdict(run_id, "held", 10)

    scene.kill(signal.SIGKILL, scene.guard(run_id))
    until(lambda: scene.pids_of("after-guard"), "the guard's end", 10)
    time.sleep(0.5)
    assert scene.unit(PROD) == "inactive"

    scene.machine.path(FOREIGN).unlink()
    scene.wait_verdict(run_id, "restored", 20)
    scene.wait_free()
    assert scene.differences() == []
