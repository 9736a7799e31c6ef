"""The rig itself: what the tests of the promises stand on must be true first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.rig import clock, pids
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.place import LAB, hierarchies
from tests.lab.rig.production import MARKER, Service, lay
from tests.lab.rig.slots import Slots

pytestmark = pytest.mark.lab
REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_host_is_a_real_systemd_machine(machine: Machine) -> None:
    """PID 1 is systemd, the boot is complete, and the ordinary users are there, one of them with sudo."""
    assert machine.read("/proc/1/comm") == "systemd\n"
    assert machine.sh("systemctl", "is-system-running").stdout == "running\n"
    assert machine.sh("sudo", "-n", "id", "-u", user="ops").stdout == "0\n"
    assert machine.sh("sudo", "-n", "true", user="plain", check=False).returncode != 0


def test_ssh_reaches_it_with_a_pinned_key_only(machine: Machine) -> None:
    """The host answers ssh under the key in known_hosts, and a strict client refuses it under any other."""
    assert machine.ssh("hostname").stdout.strip() == machine.name

    other = machine.known_hosts.read_text().replace("AAAA", "AAAB")
    machine.known_hosts.write_text(other)
    refused = machine.ssh("hostname")

    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


@pytest.mark.parametrize(
    ("suite", "generation", "python"), [("bullseye", 247, "3.9"), ("bookworm", 252, "3.11"), ("trixie", 257, "3.13")]
)
def test_three_generations_boot(machines, suite: str, generation: int, python: str) -> None:
    """bullseye, bookworm and trixie boot with their own systemd and Python."""
    (machine,) = machines(1, suite=suite)

    assert machine.sh("systemctl", "--version").stdout.split()[1] == str(generation)
    assert machine.sh("python3", "-V").stdout.startswith(f"Python {python}.")


def test_cgroups_are_the_kind_asked_for(machine: Machine, unified_machine: Machine) -> None:
    """The usual host has the layout of this machine, a unified one cgroup v2 alone, where a unit has cgroup.kill."""
    lay(unified_machine)

    hybrid = len(hierarchies()) > 1  # a machine with cgroup v2 alone can give its hosts nothing else
    assert machine.path("/sys/fs/cgroup/cgroup.controllers").exists() != hybrid
    assert unified_machine.path("/sys/fs/cgroup/cgroup.controllers").exists()
    assert unified_machine.path("/sys/fs/cgroup/system.slice/prod.service/cgroup.kill").exists()


def test_two_hosts_do_not_share_a_units_cgroup(machines) -> None:
    """A service of the same name on two hosts has a cgroup on each: stopping one leaves the other's processes."""
    one, two = machines(2)
    on_one, on_two = lay(one, watchdogs={}), lay(two, watchdogs={})
    service = on_one.services[0]

    one.sh("systemctl", "stop", "prod.service")

    assert one.show("prod.service")["prod.service"]["ActiveState"] == "inactive"
    assert not on_one.answers(service)
    assert on_two.answers(service)


def test_a_power_cut_loses_run_and_keeps_files(machine: Machine) -> None:
    """After a cut and a boot files have their old mtime, /run and transient units are gone, enabled units are up."""
    prod = lay(machine)
    machine.write("/var/lib/kept", "x")
    machine.write(MARKER, "")
    machine.sh("systemd-run", "--unit=stager-stray", "sleep", "infinity")
    boot, mtime = machine.read("/proc/sys/kernel/random/boot_id"), machine.path("/var/lib/kept").stat().st_mtime_ns

    machine.cut_power()
    assert not machine.running
    machine.boot()
    prod.wait_healthy()

    assert machine.path("/var/lib/kept").stat().st_mtime_ns == mtime
    assert not machine.path(MARKER).exists()
    assert machine.snapshot().ours == ()
    assert machine.read("/proc/sys/kernel/random/boot_id") != boot


def test_a_cut_cable_is_silence_and_can_be_mended(machine: Machine) -> None:
    """With the network silenced a connection neither ends nor gets an answer; mended, the same connection goes on."""
    import socket

    with socket.create_connection((machine.address, 22), timeout=2) as line:
        assert line.recv(4) == b"SSH-"
        machine.network.silence()
        line.sendall(b"SSH-2.0-x\r\n")
        line.settimeout(0.5)
        while True:
            try:
                assert line.recv(4096), "the connection was closed"
            except TimeoutError:
                break
        assert not machine.network.answers()

        machine.network.mend()
        line.settimeout(10)
        assert line.recv(4096)


def test_an_unplugged_host_comes_back(machine: Machine) -> None:
    """With the link down nothing answers, and after mending sshd greets again."""
    machine.network.unplug()
    assert not machine.network.answers()

    machine.network.mend()

    until(machine.network.answers, "sshd to greet again", 5)


def test_a_reset_host_is_as_new(machine: Machine) -> None:
    """A reset leaves nothing of a test: no unit, marker, file, process, mount or port; and keeps address and key."""
    before, known = machine.snapshot(["ssh.service"]), machine.known_hosts.read_text()
    lay(machine, Service().deaf(60).restarts())
    machine.write(MARKER, "")
    machine.start("setsid", "sleep", "infinity")
    machine.sh("systemctl", "mask", "cron.service")

    started = time.monotonic()
    machine.reset()
    seconds = time.monotonic() - started

    assert before.differences(machine.snapshot(["ssh.service"])) == []
    assert machine.known_hosts.read_text() == known
    assert seconds < 15, "a reset takes about half a second on a quiet machine"


def test_a_snapshot_sees_what_a_careless_tool_leaves(machine: Machine) -> None:
    """A restarted unit, a mask, a marker touched, a stray process and an open port each show as a difference."""
    lay(machine, watchdogs={})
    machine.write(MARKER, "")
    before = machine.snapshot()
    assert before == machine.snapshot()

    machine.sh("systemctl", "restart", "prod.service")
    assert before.differences(machine.snapshot(), but=("processes", "ports")) == []
    assert len(before.differences(machine.snapshot(), but=("processes", "ports"), invocations=True)) == 1

    machine.sh("systemctl", "mask", "cron.service")
    machine.sh("touch", MARKER)
    machine.start("python3", "-m", "http.server", "9999")
    machine.sh("systemd-run", "--unit=stager-left", "sleep", "infinity")
    until(lambda: len(machine.snapshot().ports) > len(before.ports), "the stray server to listen", 5)
    seen = {line.split(":")[0] for line in before.differences(machine.snapshot())}

    assert seen == {"unit_files", "files", "processes", "ports", "ours"}


def test_a_stepped_clock_moves_the_wall_clock_alone(machines) -> None:
    """A running process sees the wall clock jump by an hour, while its boot-time clock and its sleeps stay true."""
    (machine,) = machines(1, suite="trixie")
    clock.fake(machine)
    machine.write("/run/watch", "")
    script = "import time\nwhile True: print(time.time(), time.clock_gettime(7), flush=True); time.sleep(.05)"
    machine.sh("systemd-run", "--unit=watch", "-p", "StandardOutput=file:/run/watch", "python3", "-uc", script)
    last = lambda: [float(word) for word in machine.read("/run/watch").splitlines()[-2].split()]  # noqa: E731
    until(lambda: machine.read("/run/watch").count("\n") > 3, "the watch to tick", 5)

    for seconds in (3600, -3600):
        clock.step(machine, seconds)
        until(lambda seconds=seconds: abs(last()[0] - time.time() - seconds) < 2, "the wall clock to jump", 5)
        assert abs(last()[1] - time.clock_gettime(time.CLOCK_BOOTTIME)) < 2
    assert abs(float(machine.ssh("python3 -c 'import time; print(time.time())'").stdout) - time.time() + 3600) < 2


def test_a_host_with_few_pids_reuses_them(machine: Machine) -> None:
    """With a small pid_max of its own a host gives a dead process's pid to a new one, and this machine's stays."""
    before = pids.PID_MAX.read_text()
    pids.limit(machine, 700)
    script = "echo $$; i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i+1)); done; sh -c 'echo $$'"

    numbers = [int(line) for line in machine.sh("sh", "-c", script).stdout.split()]

    assert max(numbers) < 700
    assert pids.PID_MAX.read_text() == before


def test_a_dead_sessions_hosts_are_swept() -> None:
    """A session that was killed leaves a running host; the next session ends it and removes all it had."""
    code = (
        "import sys, time; from tests.lab.rig.slots import Slots; from tests.lab.rig.machine import Machine\n"
        "with Slots() as slots: print(Machine(slots.take()).name, flush=True); time.sleep(600)"
    )
    env = {**os.environ, "STAGER_LAB_DIR": str(LAB)}
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout
        name = session.stdout.readline().strip()
        session.kill()
    folder = LAB / "hosts" / name
    assert (folder / "root").is_mount()

    with Slots():
        assert not folder.exists()
    assert name not in Path("/proc/mounts").read_text()
    assert not Path(f"/sys/class/net/ve-{name}").exists()
