"""A state disk of its own: what was not synced, no space, a broken disk, one that hangs."""

from __future__ import annotations

import time

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.state import StateDisk

pytestmark = pytest.mark.lab


def write_inside(machine: Machine, path: str, *, sync: bool) -> None:
    script = "import os,sys; f=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY); os.write(f,b'kept'); "
    if sync:
        script += "os.fsync(f); os.fsync(os.open(os.path.dirname(sys.argv[1]),os.O_RDONLY))"
    machine.sh("python3", "-c", script, path)


def test_what_was_not_synced_is_lost_at_a_cut(machines) -> None:
    """From the state disk as it was at the cut, a synced file comes back and one that was only written does not."""
    (machine,) = machines(1, state_mib=16)
    write_inside(machine, "/var/lib/stager/synced", sync=True)
    write_inside(machine, "/var/lib/stager/careless", sync=False)

    machine.cut_power(forget_unsynced=True)
    machine.boot()

    assert machine.read("/var/lib/stager/synced") == "kept"
    assert not machine.path("/var/lib/stager/careless").exists()


def state_disk(machine: Machine) -> StateDisk:
    assert machine.state
    return machine.state


def test_the_state_disk_can_be_full(machines) -> None:
    """On a full state disk a write fails with 'no space', and works again when there is space."""
    (machine,) = machines(1, state_mib=16)
    filler = state_disk(machine).fill()
    write = ("dd", "if=/dev/zero", "of=/var/lib/stager/x", "bs=4096", "count=4")

    assert "No space left on device" in machine.sh(*write, check=False).stderr
    filler.unlink()
    assert machine.sh(*write).returncode == 0


def test_the_state_disk_can_break(machines) -> None:
    """A broken state disk is read-only also for files that are open; repaired, it is writable after a boot."""
    (machine,) = machines(1, state_mib=16)
    state_disk(machine).break_read_only()
    assert "Read-only file system" in machine.sh("touch", "/var/lib/stager/x", check=False).stderr

    machine.cut_power()
    state_disk(machine).repair()
    machine.boot()

    assert machine.sh("touch", "/var/lib/stager/x").returncode == 0


def test_a_frozen_disk_makes_a_writer_deaf_to_kill(machines) -> None:
    """A writer on a frozen disk sleeps in the kernel and survives SIGKILL until the disk is thawed."""
    (machine,) = machines(1, state_mib=16)
    state_disk(machine).freeze()
    machine.sh("systemd-run", "--unit=stuck", "touch", "/var/lib/stager/x")
    pid = machine.sh("systemctl", "show", "-p", "MainPID", "--value", "stuck").stdout.strip()
    state = lambda: machine.read(f"/proc/{pid}/stat").split()[2]  # noqa: E731
    until(lambda: state() == "D", "the writer to sleep in the kernel", 5)

    machine.sh("kill", "-KILL", pid)
    time.sleep(0.2)
    assert state() == "D"

    state_disk(machine).thaw()
    until(lambda: not machine.path(f"/proc/{pid}").exists(), "the writer to go", 5)
