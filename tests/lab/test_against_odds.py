"""A restore asked for on a host where something of ours stands still, is gone, or cannot be written."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.lab.rig.machine import STATE, Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import Service, lay
from tests.lab.scene import PROD, Scene


def test_a_guard_that_stands_still_is_not_waited_for(tmp_path: Path, machine: Machine) -> None:
    """Cleanup ends it after some seconds and restores; the host is free for the next run."""
    lay(machine)
    scene = Scene(tmp_path, machine)
    run_id = scene.stage("60s")
    scene.kill(signal.SIGSTOP, scene.guard(run_id))

    asked = time.monotonic()
    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert time.monotonic() - asked < 30
    assert "stands still" in said.err
    scene.wait_free()
    assert scene.differences() == []
    assert scene.stager("rehearse", str(scene.desk.playbook)).code == 0


def test_what_prepare_started_ends_with_the_run(tmp_path: Path, machine: Machine) -> None:
    """Also in a session of its own, and also where the process that started it was killed."""
    lay(machine)
    prepare = ["/bin/sh", "-c", "setsid sleep 4714 & sleep 4713; true"]
    scene = Scene(tmp_path, machine, candidate={"prepare": [prepare]})
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    until(lambda: scene.pids_of("^sleep 4713") and scene.pids_of("^sleep 4714"), "prepare to begin", 40)

    scene.kill(signal.SIGKILL, *scene.pids_of("--nonce"))

    assert controller.wait(40) != 0
    scene.wait_free()
    assert scene.pids_of("^sleep 471[34]") == []
    assert scene.differences() == []


def test_a_strange_line_in_the_journal_is_passed_over(scene: Scene) -> None:
    """JSON that is no record of ours neither ends a guard nor hides the run from cleanup."""
    run_id = scene.stage("60s")
    with scene.machine.path(f"{STATE}/runs/{run_id}/journal.jsonl").open("ab") as file:
        file.write(b'{"seq":99}\n[]\n{"seq":"1","kind":"verdict","step":"restored"}\n')

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    scene.wait_free()
    assert scene.differences() == []


def test_cleanup_on_a_state_disk_that_cannot_be_written(tmp_path: Path, machines: Callable[..., list[Machine]]) -> None:
    """The disk turns read-only in mid-run while the guard lives: production comes back when it is asked for."""
    (machine,) = machines(1, state_mib=48)
    lay(machine, Service().slow(12))  # longer than a guard may stand still before it is ended
    url = "http://127.0.0.1:8080/v1/chat/completions"
    scene = Scene(tmp_path, machine, production={"healthy": {"url": url, "model": "tiny", "within": "40s"}})
    run_id = scene.stage("60s")
    machine.state.break_read_only()

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert "stands still" not in said.err
    assert scene.unit(PROD) == "active"
    assert scene.stager("cleanup", run_id).code == 0
