"""A restore that the controller cannot follow to its end: exit 9, what is known of the host, and what to type."""

from __future__ import annotations

import shlex
import signal

from tests.lab.rig.nspawn import until
from tests.lab.scene import Scene


def drop_connections(scene: Scene) -> None:
    """End every SSH session of the host; its sshd goes on."""
    scene.kill(signal.SIGKILL, *scene.pids_of("^sshd: root"))


def test_the_connection_breaks_during_a_cleanup(scene: Scene) -> None:
    """Exit 9 with the command for the host itself; typed there, it brings production back."""
    run_id = scene.stage("60s")
    scene.arm(kind="note", step="restore")
    controller = scene.start("cleanup", run_id)
    hit = scene.wait_hit(controller)

    drop_connections(scene)

    assert controller.wait(30) == 9, controller.words()
    words = shlex.split(controller.words().rpartition("next: ")[2].splitlines()[0])
    assert words[-3:] == ["restore", "/var/lib/stager", run_id]
    scene.kill(signal.SIGKILL, int(hit["pid"]))  # the guard stood still in its first step, and is gone now
    scene.machine.sh(*words, timeout=60)
    assert (scene.verdict(run_id) or {})["step"] == "restored"
    scene.wait_free()
    assert scene.differences() == []


def test_the_connection_breaks_after_staging_failed(scene: Scene) -> None:
    """The candidate did not start (5), but what became of production is not known: that is the graver, 9."""
    (scene.desk.playbook.parent / "server" / "serve.py").write_text("import sys\nsys.exit('no card in this box')\n")
    scene.arm(kind="note", step="restore")
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    hit = scene.wait_hit(controller)

    drop_connections(scene)

    assert controller.wait(30) == 9, controller.words()
    assert "restore /var/lib/stager" in controller.words()
    scene.kill(signal.SIGCONT, int(hit["pid"]))
    scene.wait_free()
    assert scene.differences() == []


def test_an_operator_who_does_not_want_to_wait(scene: Scene) -> None:
    """Ctrl-C three times during the restore after a failed staging: 9, with the guard's time and where to look."""
    (scene.desk.playbook.parent / "server" / "serve.py").write_text("import sys\nsys.exit('no card in this box')\n")
    scene.arm(kind="note", step="restore")
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    hit = scene.wait_hit(controller)

    def pressed() -> bool:
        controller.signal(signal.SIGINT)
        return controller.over()

    until(pressed, "the controller to give up", 20)

    assert controller.wait(1) == 9, controller.words()
    assert "could not be followed" in controller.words()
    assert "next: stager status" in controller.words()
    scene.kill(signal.SIGCONT, int(hit["pid"]))
    scene.wait_free()
    assert scene.differences() == []
