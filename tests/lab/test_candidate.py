"""The candidate's end: however it is built and however it dies, all of it goes, and nothing else."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.lab.faults.controller import Controller
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.place import command
from tests.lab.rig.production import SERVER, lay
from tests.lab.scene import PROD, Scene

#: Ignores TERM, leaves a worker behind that has left session and parent and holds a port, then serves.
STUBBORN = """
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    held = socket.socket()
    held.bind(("127.0.0.1", 18099))
    held.listen()
    while True:
        time.sleep(60)
os.execv(sys.executable, [sys.executable, "engine.py", *sys.argv[1:]])
"""
#: Writes to a disk all the time, so that freezing the disk puts it into D state.
WRITER = """
import os, sys
if os.fork() == 0:
    with open("/srv/frozen/data", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
            file.seek(0)
            os.fsync(file.fileno())
os.execv(sys.executable, [sys.executable, "engine.py", *sys.argv[1:]])
"""


def release(scene: Scene, program: str) -> None:
    """Ship this program as the candidate; the tiny engine lies beside it."""
    server = scene.desk.playbook.parent / "server"
    (server / "engine.py").write_text(SERVER.read_text())
    (server / "serve.py").write_text(program)


def test_a_candidate_that_dies_under_hold(scene: Scene) -> None:
    """Its death ends the run: production is back at once, long before the hold is over."""
    run_id = scene.stage("60s")
    began = time.monotonic()

    scene.kill(signal.SIGKILL, *scene.pids_of("serve.py --port 18080"))

    verdict = scene.wait_verdict(run_id, "restored", 10)
    assert time.monotonic() - began < 5
    assert verdict["reason"].startswith("candidate died")
    scene.wait_free()
    assert scene.differences() == []


def test_a_tree_that_will_not_end(scene: Scene) -> None:
    """Deaf to TERM, forked away twice, a session of its own, a worker that holds a port: all of it is gone."""
    release(scene, STUBBORN)
    run_id = scene.stage()
    assert scene.before.differences(scene.snapshot())

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert said.document["cleanup"]["candidate_stopped"] is True
    assert scene.differences() == []


def test_workers_left_by_a_dead_main_process(scene: Scene) -> None:
    """The main process is killed and its worker still holds a port: the run ends and the worker goes, too."""
    release(scene, STUBBORN)
    run_id = scene.stage()
    (main,) = scene.pids_of("engine.py --port 18080")

    scene.kill(signal.SIGKILL, main)

    scene.wait_verdict(run_id, "restored", 15)
    scene.wait_free()
    assert scene.differences() == []


def test_a_candidate_that_never_becomes_ready(scene: Scene) -> None:
    """It exits at once: 5, with the end of its own log, and production as before."""
    release(scene, "import sys\nsys.exit('no card in this box')\n")

    said = scene.stager("stage", str(scene.desk.playbook))

    assert said.code == 5, said.err
    assert "no card in this box" in said.document["error"]["log"]
    assert scene.differences() == []


def test_a_candidate_that_takes_productions_port(scene: Scene) -> None:
    """It listens where production does: it is ended, and production is as before."""
    server = "import sys\nsys.argv[sys.argv.index('18080')] = '8080'\nexec(open('engine.py').read())\n"
    release(scene, server)

    said = scene.stager("stage", str(scene.desk.playbook))

    assert said.code == 5, said.err
    assert "8080" in said.document["error"]["message"]
    assert scene.differences() == []


def test_a_stranger_on_the_candidates_port(scene: Scene) -> None:
    """The port is in use before: 4, with the owner; nothing is stopped."""
    scene.machine.start("python3", "-m", "http.server", "18080", "--bind", "127.0.0.1")
    until(lambda: scene.machine.sh("sh", "-c", "ss -ltn | grep 18080", check=False).stdout, "the stranger")
    before = scene.snapshot()

    said = scene.stager("stage", str(scene.desk.playbook))

    assert said.code == 4, said.err
    assert "18080" in said.document["error"]["message"]
    assert before.differences(scene.snapshot()) == []


LOADS_FOR_EVER = "import time\ntime.sleep(600)\n"


def loading(scene: Scene) -> Controller:
    """A controller whose candidate was launched and loads for ever."""
    release(scene, LOADS_FOR_EVER)
    scene.playbook(candidate={"ready": {"timeout": "60s"}, "stop": {"grace": "1s"}, "limits": {"runtime": "2m"}})
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    until(lambda: "launched" in controller.words(), "the launch", 30)
    return controller


def test_a_stranger_takes_the_port_while_the_candidate_loads(scene: Scene) -> None:
    """What answers there is not the candidate: 5, it is taken down, and the stranger is left alone."""
    controller = loading(scene)
    stranger = scene.machine.start("python3", "-m", "http.server", "18080", "--bind", "127.0.0.1")

    code = controller.wait(30)

    assert code == 5, controller.words()
    assert "Port 18080 is answered by another process than the candidate." in controller.words()
    scene.wait_free()
    assert stranger.poll() is None
    scene.kill(signal.SIGTERM, *scene.pids_of("http.server 18080"))
    stranger.wait(5)
    assert scene.differences() == []


def test_a_run_that_is_ended_while_the_candidate_loads(scene: Scene) -> None:
    """Another controller cleans it up: the first one hears that (11); no candidate is blamed for having ended."""
    controller = loading(scene)

    assert scene.stager("cleanup", scene.open_runs()[0]).code == 0

    code = controller.wait(30)
    words = " ".join(controller.words().split())
    assert code == 11, words
    assert "The run was ended on the host while the candidate loaded: cleanup." in words
    scene.wait_free()
    assert scene.differences() == []


@pytest.fixture
def frozen(machine: Machine, tmp_path: Path) -> str:
    """A disk in the host at /srv/frozen that can be frozen; returns the folder."""
    image, node = tmp_path / "disk.img", "/opt/lab-disk"
    with image.open("wb") as file:
        file.truncate(8 << 20)
    command("mkfs.ext4", "-q", "-F", image)
    device = command("losetup", "--find", "--show", image).stdout.strip()
    minor = device.removeprefix("/dev/loop")
    command("mknod", machine.path(node), "b", "7", minor)
    machine.sh("mkdir", "-p", "/srv/frozen")
    command("nsenter", "-t", str(machine.leader), "-m", "--", "mount", node, "/srv/frozen")
    machine.sh("chmod", "1777", "/srv/frozen")
    command("losetup", "--detach", device)
    return "/srv/frozen"


def test_a_process_in_d_state(tmp_path: Path, machine: Machine, frozen: str) -> None:
    """It waits in the kernel where no signal reaches it: a clear "stuck", 9, and production is started all the same."""
    lay(machine)
    scene = Scene(tmp_path / "desk", machine, candidate={"user": "nobody"})
    release(scene, WRITER)
    run_id = scene.stage()
    machine.sh("fsfreeze", "--freeze", frozen)
    try:
        until(lambda: "D" in machine.sh("sh", "-c", "ps -eo stat,user | grep nobody").stdout, "D state", 10)

        said = scene.stager("cleanup", run_id)

        assert said.code == 9, said.err
        assert "no signal ends" in said.document["error"]["message"]
        assert "state D" in said.document["error"]["message"]
        assert said.document["cleanup"]["candidate_stopped"] is False
        assert scene.unit(PROD) == "active"
        assert not scene.machine.path("/run/llama/maintenance").exists()
    finally:
        machine.sh("fsfreeze", "--unfreeze", frozen)
    until(lambda: not scene.pids_of("serve.py --port 18080"), "the end of what was killed", 10)
    assert scene.stager("cleanup", run_id).code == 0
