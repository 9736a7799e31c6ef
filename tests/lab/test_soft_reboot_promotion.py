"""A soft reboot in the middle of a promotion: until the confirmation the old build comes back, then the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.promoting import Promoting
from tests.lab.rig.machine import Machine
from tests.lab.test_soft_reboot import soft_reboot

#: The record after which the host goes down, and whether production then runs the new build.
CASES = {
    "switched": ({"kind": "done", "step": "switch"}, False),
    "started": ({"kind": "done", "step": "promote.start"}, False),
    "confirmed": ({"kind": "note", "step": "confirmed"}, True),
}
#: What a boot makes anew whatever a promotion does.
ANEW = ("processes", "ports", "files", "unit_files")


@pytest.mark.parametrize("after", CASES)
def test_a_soft_reboot_ends_in_one_of_the_two_builds(tmp_path: Path, new_machine: Machine, after: str) -> None:
    """Everything is as it must be on that build, and the host is free; the controller cannot have seen it all."""
    record, forward = CASES[after]
    scene = Promoting(tmp_path, new_machine)
    build = scene.shown()
    scene.arm(**record)
    controller = scene.start("promote", build, "--playbook", str(scene.desk.playbook))
    scene.wait_hit(controller)
    run_id = scene.runs()[-1]
    scene.disarm()

    soft_reboot(new_machine)

    code = controller.wait(60)
    scene.wait_free(60)
    verdict = scene.verdict(run_id) or {}
    assert verdict["step"] == ("promoted" if forward else "restored"), verdict
    assert (scene.on_new if forward else scene.on_old)(but=ANEW) == []
    assert code in ((0, 9) if forward else (5, 9)), controller.words()
