"""A run that is over while a probe is under way: noticed at once, and what was measured counts for nothing."""

from __future__ import annotations

import json
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
    return [(item["verdict"], (*item["reasons"], "")[0]) for item in listed]


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
    assert json.loads(controller.out())["error"]["host_state"].startswith("restored; production as before")
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
    assert scene.stager("show", run_id).document["exit_code"] == 0

    asked = time.monotonic()
    assert controller.wait(30) == 11, controller.words()
    assert time.monotonic() - asked < 3
    shown = scene.stager("show", run_id).document
    assert shown["exit_code"] == 0
    assert shown["cleanup"]["production_as_before"]
    assert [verdict for verdict, _ in attempts(scene)] == ["aborted"]
    assert scene.differences() == []


def test_whoever_extends_a_run_leaves_its_probes_alone(scene: Scene) -> None:
    """The hold is longer, and the probe under way comes to its own end."""
    scene.playbook(probes={"soak": {"seconds": 10}})
    run_id = scene.stage("20s")
    controller = probing(scene, run_id)

    extended = scene.stager("extend", run_id, "90s")

    assert extended.code == 0, extended.err
    assert extended.document["lease_seconds_left"] > 80
    assert controller.wait(40) in (0, 6), controller.words()
    assert "aborted" not in [verdict for verdict, _ in attempts(scene)]
    assert scene.stager("cleanup", run_id).code == 0
    assert scene.differences() == []


def test_a_dead_candidate_whose_production_stays_down(scene: Scene) -> None:
    """What is graver is told: a foreign marker holds production down (9), not only that the candidate died (5)."""
    scene.playbook(probes={"soak": {"seconds": 30}}, markers={"on_foreign": "hold"})
    run_id = scene.stage("60s")
    controller = probing(scene, run_id)
    foreign = "/run/llama/other.maintenance"

    scene.kill(signal.SIGSTOP, scene.guard(run_id))
    scene.machine.write(foreign, "")
    scene.kill(signal.SIGKILL, *scene.pids_of("serve.py --port 18080"))
    scene.kill(signal.SIGCONT, scene.guard(run_id))

    assert controller.wait(30) == 9, controller.words()
    assert foreign in controller.words()
    scene.machine.path(foreign).unlink()
    scene.wait_free()
    assert scene.differences() == []
