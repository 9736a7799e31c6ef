"""A promotion cut off at every journal boundary: the host ends in exactly one of the two states, and is well in it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.faults.controller import Controller
from tests.lab.promoting import Promoting
from tests.lab.rig.machine import Machine

LEASE = 3
PATIENCE = 60.0
OLD, NEW = "old", "new"


def kill_controller(scene: Promoting, controller: Controller, run_id: str) -> None:
    """The controller is gone; what it had asked for goes on until the host notices."""
    controller.signal(signal.SIGKILL)


def kill_guard(scene: Promoting, controller: Controller, run_id: str) -> None:
    """The guard is gone, and the controller lives."""
    scene.kill(signal.SIGKILL, scene.guard(run_id))


def cut_power(scene: Promoting, controller: Controller, run_id: str) -> None:
    """The host loses power, and what it had not synced; then it boots."""
    scene.machine.cut_power(forget_unsynced=True)
    controller.signal(signal.SIGKILL)
    scene.disarm()
    scene.machine.boot()


FAULTS: dict[str, Callable[[Promoting, Controller, str], None]] = {
    "controller killed": kill_controller,
    "guard killed": kill_guard,
    "power cut": cut_power,
}


@pytest.fixture
def scene(tmp_path: Path, machines: Callable[..., list[Machine]]) -> Promoting:
    """A host whose state folder is a disk that can forget, and a short lease."""
    machine = machines(1, state_mib=48)[0]
    return Promoting(tmp_path, machine, guard={"lease": f"{LEASE}s"})


def one_case(scene: Promoting, build: str, seq: int, fault: str) -> tuple[str, list[str]]:
    """Cut a promotion off right after record ``seq``; returns where it ended, and what is wrong there."""
    scene.arm(seq=seq)
    controller = scene.start("promote", build, "--playbook", str(scene.desk.playbook))
    hit = scene.wait_hit(controller)
    run_id = scene.runs()[-1]
    FAULTS[fault](scene, controller, run_id)
    if fault != "power cut":
        scene.kill(signal.SIGCONT, int(hit["pid"]))
    code = controller.wait(PATIENCE)
    if fault == "power cut" and not any(r.get("undo") for r in scene.journal(run_id)):
        # It had changed nothing and armed no leg: whoever opens the next run strikes it off.
        rehearsed = scene.stager("rehearse", str(scene.desk.playbook))
        if rehearsed.code != 0:
            return OLD, [f"the host is not free for the next run: {rehearsed.err}"]
    scene.wait_free(PATIENCE)
    ended = OLD if scene.link == "releases/first" else NEW
    rebooted = ("processes", "ports", "files", "unit_files") if fault == "power cut" else ()
    end = time.monotonic() + 20
    while (trouble := (scene.on_old if ended == OLD else scene.on_new)(but=rebooted)) and time.monotonic() < end:
        time.sleep(0.3)
    if fault == "guard killed" and (code == 0) != (ended == NEW):
        trouble.append(f"the controller ended with {code}: {controller.words()}")
    return ended, trouble


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_boundary(scene: Promoting, fault: str) -> None:
    """Before the confirmation is on record it is the old build, from then on the new one; nothing is left over."""
    build = scene.shown()
    said = scene.promote(build)
    assert said.code == 0, said.err
    records = scene.journal(said.document["run_id"])
    confirmed = next(r["seq"] for r in records if r["step"] == "confirmed")
    assert scene.roll_back().code == 0

    wrong: list[str] = []
    for record in records:
        seq = record["seq"]
        if fault == "guard killed" and seq == 0:
            continue  # there is none yet
        ended, trouble = one_case(scene, build, seq, fault)
        # The restore that the guard's end sets going waits for the step under way: the controller may confirm first.
        either = fault == "guard killed" and seq < confirmed
        if ended != (NEW if seq >= confirmed else OLD) and not either:
            trouble.append(f"it ended on the {ended} build")
        wrong += [f"after {seq} {record['kind']} {record['step']}: {line}" for line in trouble]
        if ended == NEW and (back := scene.roll_back()).code != 0:
            wrong.append(f"after {seq}: no rollback: {back.err}")
            break
    assert wrong == []
