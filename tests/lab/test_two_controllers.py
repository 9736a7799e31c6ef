"""One run per host at a time, and a controller that comes too late changes nothing."""

from __future__ import annotations

import signal
import time

from tests.lab.rig.nspawn import until
from tests.lab.scene import Scene


def test_the_second_controller_is_told_who_holds_the_host(scene: Scene) -> None:
    """It gets 11, with the run, its holder, since when, and what to type; the first run is not disturbed."""
    run_id = scene.stage()
    staged = scene.snapshot()

    said = scene.stager("stage", str(scene.desk.playbook), home="another")

    error = said.document["error"]
    assert said.code == 11, said.err
    assert run_id in error["message"]
    assert "root@" in error["message"]
    assert " since 20" in error["message"]
    assert "stager" in error["next"]
    assert staged.differences(scene.snapshot()) == []
    assert scene.stager("cleanup", run_id).code == 0
    assert scene.differences() == []


def test_two_controllers_at_the_same_moment(scene: Scene) -> None:
    """Of two that begin together one stages and the other gets 11."""
    both = [scene.start("stage", str(scene.desk.playbook), "--hold", "60s", home=home) for home in ("one", "other")]

    codes = [controller.wait(60) for controller in both]

    assert sorted(codes) == [0, 11], [controller.words() for controller in both]
    first = codes.index(0)
    assert scene.stager("cleanup", scene.open_runs()[0], home=("one", "other")[first]).code == 0
    assert scene.differences() == []


def test_a_controller_that_wakes_after_its_lease_changes_nothing(scene: Scene) -> None:
    """Stopped past its lease and continued, it is refused by its fence, says so, and exits with 11."""
    scene.arm(kind="note", step="ready")
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    hit = scene.wait_hit(controller)
    controller.signal(signal.SIGSTOP)
    scene.kill(signal.SIGCONT, int(hit["pid"]))
    scene.wait_free()
    assert scene.differences() == []

    controller.signal(signal.SIGCONT)

    assert controller.wait(30) == 11, controller.words()
    assert "nothing was changed" in controller.words()
    assert scene.differences() == []


def test_a_verify_that_wakes_after_its_lease_notices_at_once(scene: Scene) -> None:
    """The host answers its next sign of life with word that the run is over: no probe goes on measuring nothing."""
    scene.playbook(probes={"soak": {"seconds": 30}})
    run_id = scene.stage("4s")
    controller = scene.start("verify", run_id, "--probe", "soak")
    until(lambda: "soak" in controller.words(), "the probe to begin", 20)
    time.sleep(1.0)
    controller.signal(signal.SIGSTOP)
    scene.wait_free()

    woken = time.monotonic()
    controller.signal(signal.SIGCONT)
    code = controller.wait(60)

    assert code == 11, controller.words()
    assert time.monotonic() - woken < 3
    assert "lease over" in controller.words()
    assert scene.differences() == []
