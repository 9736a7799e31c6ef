"""A run that is over while a probe is under way: noticed at once, and what was measured counts for nothing."""

from __future__ import annotations

import signal
import time

from tests.lab.faults.controller import Controller
from tests.lab.rig.nspawn import until
from tests.lab.scene import Scene


def probing(scene: Scene, run_id: str) -> Controller:
    """A controller in the middle of half a minute's probe."""
    controller = scene.start("verify", run_id, "--probe", "soak")
    until(lambda: "soak" in controller.words(), "the probe to begin", 20)
    return controller


def attempts(scene: Scene) -> list[tuple[str, str]]:
    """Every attempt on record: its verdict, and its first reason."""
    listed = scene.stager("evidence", "list").document["evidence"]
    return [(item["verdict"], item["reasons"][0]) for item in listed]


def test_a_candidate_that_dies_under_a_probe(scene: Scene) -> None:
    """Exit 5 with the end of its log, within seconds; the attempt is kept as aborted, and production is back."""
    scene.playbook(probes={"soak": {"seconds": 30}})
    run_id = scene.stage("60s")
    controller = probing(scene, run_id)
    died = time.monotonic()

    scene.kill(signal.SIGKILL, *scene.pids_of("serve.py --port 18080"))

    assert controller.wait(30) == 5, controller.words()
    assert time.monotonic() - died < 6
    assert "candidate died" in controller.words()
    ((verdict, reason),) = attempts(scene)
    assert verdict == "aborted"
    assert reason.startswith("broken off: The candidate died")
    scene.wait_free()
    assert scene.differences() == []


def test_a_run_that_another_controller_ends(scene: Scene) -> None:
    """Whoever measures is told at once that the run is over (11); its attempt is aborted."""
    scene.playbook(probes={"soak": {"seconds": 30}})
    run_id = scene.stage("60s")
    controller = probing(scene, run_id)

    assert scene.stager("cleanup", run_id).code == 0

    asked = time.monotonic()
    assert controller.wait(30) == 11, controller.words()
    assert time.monotonic() - asked < 3
    assert [verdict for verdict, _ in attempts(scene)] == ["aborted"]
    assert scene.differences() == []
