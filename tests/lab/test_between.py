"""Between preflight and the first stop; and a restore on a host that cannot be asked for a while."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay
from tests.lab.scene import PROD, WATCHDOG, Scene

#: A check that is slow and does not look at the marker again: what a watchdog may have under way when it is stopped.
SLOW_CHECK = "sleep 4; systemctl is-active --quiet prod.service || systemctl start prod.service"


def busy(machine: Machine, tokens: int) -> threading.Thread:
    """Keep production busy with one long answer."""
    body = {"model": "tiny", "messages": [{"role": "user", "content": "tick"}], "max_tokens": tokens}
    url = f"http://{machine.address}:8080/v1/chat/completions"
    thread = threading.Thread(target=lambda: urllib.request.urlopen(url, json.dumps(body).encode(), timeout=60).read())
    thread.start()
    return thread


def test_a_marker_laid_while_production_drains_stops_nothing(tmp_path: Path, machine: Machine) -> None:
    """Preflight passed, the drain takes a while, and somebody asks to be left alone: 4, and the same process serves."""
    lay(machine)
    scene = Scene(
        tmp_path, machine, production={"drain": {"gauge": "http://127.0.0.1:8080/health#/busy", "timeout": "30s"}}
    )
    invocation = scene.unit(PROD, "InvocationID")
    answer = busy(machine, 1200)  # six seconds at five milliseconds a token
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    until(lambda: "guard legs" in controller.words(), "the legs to be armed", 20)

    machine.write("/run/llama/other.maintenance", "")
    answer.join()

    assert controller.wait(40) == 4, controller.words()
    assert "other.maintenance" in controller.words()
    assert scene.unit(PROD, "InvocationID") == invocation
    machine.path("/run/llama/other.maintenance").unlink()
    assert scene.differences() == []


def test_a_watchdogs_check_under_way_is_waited_for(tmp_path: Path, machine: Machine) -> None:
    """It would take our stop for a failure and start production beside the candidate."""
    service = f'[Service]\nType=oneshot\nExecStart=/bin/sh -c "{SLOW_CHECK}"\n'
    timer = "[Timer]\nOnCalendar=*:*:0/15\nAccuracySec=50ms\n[Install]\nWantedBy=timers.target\n"
    lay(machine, watchdogs={WATCHDOG: timer, "watchdog.service": service})
    scene = Scene(tmp_path, machine)
    until(lambda: scene.unit("watchdog.service") == "activating", "a check to be under way", 20)

    run_id = scene.stage()

    time.sleep(5)  # longer than the check
    assert scene.unit(PROD) == "inactive"
    assert scene.verdict(run_id) is None
    assert scene.stager("cleanup", run_id).code == 0
    scene.wait_free()


def test_a_restore_outlasts_a_systemctl_that_fails_for_a_while(tmp_path: Path, machine: Machine) -> None:
    """A manager that cannot be asked is tried again; no verdict is given on what could not be seen."""
    lay(machine)
    scene = Scene(tmp_path, machine)
    run_id = scene.stage("60s")
    machine.sh("mv", "/usr/bin/systemctl", "/usr/bin/systemctl.away")
    machine.write("/usr/bin/systemctl", "#!/bin/sh\nexit 1\n", 0o755)

    machine.sh(
        "sh", "-c", f"kill -9 $(cat /sys/fs/cgroup/systemd/system.slice/stager-candidate-{run_id}.service/cgroup.procs)"
    )
    until(lambda: any(r["step"] == "restore.broke" for r in scene.journal(run_id)), "a pass that breaks", 20)
    machine.sh("mv", "/usr/bin/systemctl.away", "/usr/bin/systemctl")

    scene.wait_verdict(run_id, "restored", 40)
    scene.wait_free()
    assert scene.unit(PROD) == scene.unit(WATCHDOG) == "active"
    assert scene.differences() == []
