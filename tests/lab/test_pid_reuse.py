"""Process ids that come round again: the recorded identity never means the newcomer."""

from __future__ import annotations

import signal
import time

import pytest

from tests.lab.rig import pids
from tests.lab.rig.machine import Machine
from tests.lab.scene import Scene

ROUND = """
import os, sys, time
wanted, end = int(sys.argv[1]), time.time() + 30
while time.time() < end:
    pid = os.fork()
    if pid == 0:
        if os.getpid() == wanted:
            argv = ["/usr/bin/python3", "serve.py", "--port", "18080", "--slots", "4", sys.argv[2]]
            os.execv(argv[0], argv)
        os._exit(0)
    if pid == wanted:
        print("there", flush=True)
        time.sleep(60)
    os.waitpid(pid, 0)
"""


def test_a_newcomer_under_the_candidates_pid_survives(scene: Scene, machine: Machine) -> None:
    """The candidate dies, another program gets its pid and its argv: the restore ends nothing of it."""
    try:
        pids.limit(machine, 400)
    except RuntimeError as error:
        pytest.skip(f"pid reuse cannot be made here: {error}")
    burn = "import os\nfor _ in range(400):\n    os.waitpid(os.fork() or os._exit(0), 0)\n"
    machine.sh("python3", "-c", burn)  # past 300: below it the kernel gives out no number a second time
    run_id = scene.stage()
    scene.arm(kind="note", step="restore")  # the guard stops before it looks for the candidate
    (main,) = scene.pids_of("serve.py --port 18080")
    machine.write("/opt/newcomer/serve.py", "import time\ntime.sleep(120)\n")
    machine.write("/opt/newcomer/round.py", ROUND)
    scene.kill(signal.SIGKILL, main)
    hit = scene.wait_hit()
    newcomer = machine.start("env", "-C", "/opt/newcomer", "python3", "round.py", str(main), "newcomer")
    end = time.monotonic() + 40
    while not scene.pids_of("serve.py --port 18080 --slots 4 newcomer"):
        assert time.monotonic() < end, "the pid did not come round"
        time.sleep(0.1)
    assert scene.pids_of("serve.py --port 18080 --slots 4 newcomer") == [main]

    scene.kill(signal.SIGCONT, int(hit["pid"]))

    scene.wait_verdict(run_id, "restored", 20)
    assert scene.pids_of("serve.py --port 18080 --slots 4 newcomer") == [main]
    newcomer.kill()
    machine.sh("pkill", "-f", "round.py", check=False)
    machine.sh("pkill", "-f", "newcomer", check=False)
