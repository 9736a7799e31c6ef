"""A marker of somebody else's that appears in mid-run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import Service, lay
from tests.lab.scene import MARKER, PROD, Scene

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


@pytest.mark.parametrize("how", ["touched", "replaced"])
def test_what_took_our_markers_place_holds_a_service_that_obeys_it(tmp_path: Path, machine: Machine, how: str) -> None:
    """No start would help, so nothing waits for health: held at once (9), left alone, and back when it is gone."""
    lay(machine, Service().obeys_marker())
    scene = Scene(tmp_path, machine)
    kind = scene.folder / "markers" / "maintenance.yaml"
    kind.write_text(kind.read_text().replace("- watchdog.service", f"- watchdog.service\n- {PROD}"))
    run_id = scene.stage()
    if how == "touched":
        os.utime(machine.path(MARKER))
    else:
        machine.path(MARKER).unlink()
        machine.write(MARKER, "somebody's")
    stands = machine.read(MARKER), machine.path(MARKER).stat().st_mtime_ns

    asked = time.monotonic()
    said = scene.stager("cleanup", run_id)

    assert said.code == 9, said.err
    assert time.monotonic() - asked < 15  # production has half a minute to become healthy
    assert f"foreign marker {MARKER}" in said.document["error"]["message"]
    assert "until the foreign marker is gone; the guard stays armed" in said.document["error"]["host_state"]
    (left,) = said.document["cleanup"]["left"]
    assert left["path"] == MARKER
    assert ("mtime is" in left["why"]) or ("size is" in left["why"])
    assert (machine.read(MARKER), machine.path(MARKER).stat().st_mtime_ns) == stands
    assert scene.unit(PROD) == "inactive"
    assert not scene.pids_of("serve.py --port 18080")

    machine.path(MARKER).unlink()
    gone = time.monotonic()
    until(lambda: scene.unit(PROD) == "active", "production", 10)
    assert time.monotonic() - gone < 1.0
    verdict = scene.wait_verdict(run_id, "restored, something left", 20)
    assert [(entry["path"], entry["why"]) for entry in verdict["left"]] == [(MARKER, "is gone")]
    scene.wait_free()
    assert scene.differences() == []


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
