"""Everything of ours on the host killed at once: what is left of the three legs restores."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.scene import Scene

OURS = "programs/[0-9a-f]+.pyz (serve|guard|after-guard|cap|restore) "


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Scene:
    """A run whose deadline is near: the hard cap is not waited for longer than need be."""
    lay(machine)
    limits = {"limits": {"runtime": "8s"}, "ready": {"timeout": "6s"}, "stop": {"grace": "1s"}}
    healthy = {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "5s"}
    production = {"drain": None, "healthy": healthy}
    return Scene(tmp_path, machine, guard={"deadline": "20s"}, candidate=limits, production=production)


def kill_all(scene: Scene) -> None:
    """SIGKILL whatever of ours runs, and what systemd starts when it ends, until nothing has come for a second."""
    quiet = time.monotonic()
    while time.monotonic() - quiet < 1.0:
        if pids := scene.pids_of(OURS):
            scene.kill(signal.SIGKILL, *pids)
            quiet = time.monotonic()
        time.sleep(0.02)


def test_the_hard_cap_restores_alone(scene: Scene) -> None:
    """Guard, its aftermath and the channel are killed: the timer on its fixed base restores at the deadline."""
    run_id = scene.stage("8s")
    kill_all(scene)
    assert scene.unit("prod.service") == "inactive"

    verdict = scene.wait_verdict(run_id, "restored", 40)

    assert (verdict["reason"], verdict["by"]) == ("the guard was ended", "cap")
    scene.wait_free()
    assert scene.differences() == []


def test_the_boot_leg_restores_alone(scene: Scene) -> None:
    """Everything is killed, the cap's timer too, and the host is rebooted by force: the installed unit restores."""
    run_id = scene.stage("8s")
    kill_all(scene)
    scene.machine.sh("systemctl", "stop", f"stager-cap-{run_id}.timer")

    scene.machine.reboot(force=True)

    verdict = scene.wait_verdict(run_id, "restored", 20)
    assert verdict["by"] == "boot"
    scene.wait_free()
    assert scene.differences(but=("files",)) == []
    assert not scene.machine.path("/run/llama/maintenance").exists()


def test_an_orderly_reboot_restores_at_boot(scene: Scene) -> None:
    """A shutdown ends the guard; nothing is started on the way down, and the boot leg restores."""
    run_id = scene.stage("8s")

    scene.machine.reboot()

    verdict = scene.wait_verdict(run_id, "restored", 20)
    assert verdict["by"] == "boot"
    scene.wait_free()
    assert scene.differences(but=("files",)) == []


def test_a_guard_stopped_by_another_hand_restores_at_once(scene: Scene) -> None:
    """`systemctl stop` of the guard is its end, not the run's: production is back before the lease would be over."""
    run_id = scene.stage("8s")
    began = time.monotonic()

    scene.machine.sh("systemctl", "stop", f"stager-guard-{run_id}.service")

    until(lambda: scene.verdict(run_id), "the verdict", 10)
    assert time.monotonic() - began < 6
    assert (scene.verdict(run_id) or {})["by"] == "guard's end"
    scene.wait_free()
    assert scene.differences() == []


def test_a_shutdown_in_the_middle_of_a_restore_is_the_boot_legs(scene: Scene) -> None:
    """systemd refuses starts on the way down: no verdict is given on that, and production is back after the boot."""
    scene.machine.sh("systemctl", "disable", "prod.service")  # a boot alone would not bring it
    scene.before = scene.snapshot()
    run_id = scene.stage("8s")
    scene.arm(kind="intent", step="unit.start")
    scene.kill(signal.SIGKILL, scene.guard(run_id))
    hit = scene.wait_hit()  # what follows the guard's end, right before it starts production

    scene.machine.sh("systemctl", "poweroff", "--no-block")
    until(lambda: "stopping" in scene.machine.sh("systemctl", "is-system-running", check=False).stdout, "the shutdown")
    scene.kill(signal.SIGCONT, int(hit["pid"]))
    scene.machine.wait_down()

    assert scene.verdict(run_id) is None
    scene.machine.boot()
    verdict = scene.wait_verdict(run_id, "restored", 30)
    assert (verdict["by"], verdict["reason"]) == ("boot", "the host was rebooted")
    scene.wait_free()
    assert scene.differences(but=("files",)) == []
