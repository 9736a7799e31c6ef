"""A soft reboot (systemd 254 and later): every process is new, but the kernel's boot id, its clocks and /run stay."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import Service, lay
from tests.lab.scene import Scene
from tests.lab.test_without_root import lay_plain


def soft_reboots(machine: Machine) -> str:
    """How often the host's userspace was started anew, as its systemd counts; empty while it cannot be asked.

    A question that reaches systemd as it goes down is never answered.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        asked = machine.sh("systemctl", "show", "-p", "SoftRebootsCount", "--value", check=False, timeout=2)
        return asked.stdout.strip()
    return ""


def soft_reboot(machine: Machine) -> None:
    """Start the host's userspace anew under the same kernel."""
    machine.sh("systemctl", "soft-reboot", "--no-block")
    until(lambda: soft_reboots(machine) == "1", "the new userspace")
    until(machine.network.answers, "its sshd")


@pytest.mark.parametrize("enabled", [True, False], ids=["started-at-boot", "not-started-at-boot"])
def test_production_comes_back_as_after_a_reboot(tmp_path: Path, new_machine: Machine, enabled: bool) -> None:
    """What boot starts is nobody's other hand; what it does not is started; the marker, which /run kept, is cleared."""
    lay(new_machine, Service(enabled=enabled))
    scene = Scene(tmp_path, new_machine)
    boot_id = new_machine.read("/proc/sys/kernel/random/boot_id")
    run_id = scene.stage("60s")

    soft_reboot(new_machine)

    until(lambda: scene.verdict(run_id), "a verdict", 30)
    verdict = scene.verdict(run_id) or {}
    assert (verdict["step"], verdict["by"], verdict["reason"]) == ("restored", "boot", "the host was rebooted"), verdict
    assert new_machine.read("/proc/sys/kernel/random/boot_id") == boot_id
    scene.wait_free()
    assert scene.differences() == []


def test_the_host_is_free_for_the_next_run(tmp_path: Path, new_machine: Machine) -> None:
    """A rehearsal after it goes as before."""
    lay(new_machine)
    scene = Scene(tmp_path, new_machine)
    run_id = scene.stage("60s")
    soft_reboot(new_machine)
    scene.wait_verdict(run_id, "restored")
    scene.wait_free()

    said = scene.stager("rehearse", str(scene.desk.playbook))

    assert said.code == 0, said.err
    assert scene.differences() == []


def test_without_root_a_person_ends_it(tmp_path: Path, new_machine: Machine) -> None:
    """cron's @reboot does not fire after a soft reboot: the run stays open until `stager cleanup`, which restores."""
    scene = lay_plain(tmp_path, new_machine)
    run_id = scene.stage("60s")
    soft_reboot(new_machine)
    time.sleep(5)  # cron has been up for longer by now than its @reboot jobs take
    assert scene.verdict(run_id) is None
    assert scene.open_runs() == [run_id]

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert scene.healthy()
    scene.wait_free()
    assert scene.differences(patience=10) == []
