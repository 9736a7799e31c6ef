"""An ordinary user without root: production by commands, the guard's legs as two detached processes."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import SERVER
from tests.lab.scene import Scene

USER, HOME = "plain", "/home/plain"
STATE = HOME + "/.local/state/stager/onhost"
#: Starts, stops and asks for production by its pid file; the process is nobody's child afterwards.
CONTROL = """#!/bin/sh
cd /home/plain
case "$1" in
start) setsid python3 tinyprod.py --port 8080 </dev/null >/dev/null 2>&1 & echo $! > prod.pid ;;
stop) kill "$(cat prod.pid)"; while kill -0 "$(cat prod.pid)" 2>/dev/null; do sleep 0.05; done ;;
status) kill -0 "$(cat prod.pid)" 2>/dev/null || exit 3 ;;
esac
"""


class Plain(Scene):
    """A scene whose state folder is the user's own."""

    def runs(self) -> list[str]:
        folder = self.machine.path(f"{STATE}/runs")
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def journal(self, run_id: str) -> list[dict[str, Any]]:
        path = self.machine.path(f"{STATE}/runs/{run_id}/journal.jsonl")
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def guard(self, run_id: str) -> int:
        return int(json.loads(self.machine.read(f"{STATE}/runs/{run_id}/guard.json"))["process"]["pid"])

    def healthy(self) -> bool:
        return self.machine.sh(f"{HOME}/control", "status", user=USER, check=False).returncode == 0


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Plain:
    """On the usual host."""
    return lay_plain(tmp_path, machine)


def lay_plain(tmp_path: Path, machine: Machine) -> Plain:
    """Production that only this user's own commands know of."""
    machine.copy(SERVER, f"{HOME}/tinyprod.py")
    machine.write(f"{HOME}/control", CONTROL, 0o755)
    machine.sh("mkdir", "-p", f"{HOME}/flags")
    machine.sh("chown", "-R", f"{USER}:", HOME)
    machine.sh(f"{HOME}/control", "start", user=USER)
    until(lambda: machine.sh("sh", "-c", "ss -ltn | grep -q :8080", check=False).returncode == 0, "production")
    control = {"name": "prod", **{verb: [f"{HOME}/control", verb] for verb in ("start", "stop", "status")}}
    production = {"manager": "command", "services": [control], "watchdogs": []}
    scene = Plain(tmp_path, machine, host={"user": USER}, production=production)
    kind = {"path": f"{HOME}/flags/maintenance", "means": "keep off"}
    (scene.folder / "markers" / "maintenance.yaml").write_text(yaml.safe_dump(kind))
    scene.before = scene.snapshot()
    return scene


def test_stage_and_cleanup(scene: Plain) -> None:
    """Two legs and cron's @reboot hold; cleanup brings production back, in a session of its own."""
    run_id = scene.stage()
    assert not scene.healthy()
    status = scene.stager("status", str(scene.desk.playbook))
    (run,) = (run for run in status.document["runs"] if run["run_id"] == run_id)
    assert run["guard_legs"] == ["lease", "cap", "boot"]

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert scene.healthy()
    scene.wait_free()
    assert scene.differences(patience=10) == []


def test_the_lease_alone(scene: Plain) -> None:
    """Nobody comes back: the detached guard restores when the hold is over, and production outlives it."""
    run_id = scene.stage("4s")
    scene.wait_verdict(run_id, "restored", 20)
    scene.wait_free()
    assert scene.healthy()
    assert scene.differences(patience=10) == []


def test_the_second_process_notices_a_killed_guard(scene: Plain) -> None:
    """The guard is killed: the second process restores within a second or so."""
    run_id = scene.stage()
    began = time.monotonic()

    scene.kill(signal.SIGKILL, scene.guard(run_id))

    until(lambda: any(r["step"] == "restore" for r in scene.journal(run_id)), "the restore's beginning", 10)
    assert time.monotonic() - began < 3
    verdict = scene.wait_verdict(run_id, "restored", 20)
    assert verdict["by"] == "cap"
    scene.wait_free()
    assert scene.differences(patience=10) == []


def test_a_candidate_whose_runtime_is_over(scene: Plain) -> None:
    """Without a unit to end it, the guard does, though the lease still goes on; production is back."""
    playbook = yaml.safe_load(scene.desk.playbook.read_text())
    playbook["guard"]["lease"] = "60s"
    playbook["candidate"] |= {"limits": {"runtime": "8s"}, "ready": {"timeout": "6s"}}
    scene.desk.playbook.write_text(yaml.safe_dump(playbook))
    run_id = scene.stage("8s")

    verdict = scene.wait_verdict(run_id, "restored", 20)

    assert verdict["reason"] == "candidate's runtime is over"
    scene.wait_free()
    assert scene.healthy()
    assert scene.differences(patience=10) == []


def test_a_candidate_that_forks_away(scene: Plain) -> None:
    """Without a cgroup to hold it, a worker that left session and parent is still found and ended."""
    from tests.lab.test_candidate import STUBBORN, release

    release(scene, STUBBORN)
    run_id = scene.stage()

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    scene.wait_free()
    assert scene.differences(patience=10) == []


def test_another_users_run_holds_the_host(scene: Plain, tmp_path: Path) -> None:
    """The lock is one for the whole host: root's controller is told of the user's run (11)."""
    run_id = scene.stage()
    scene.desk.write(host={"user": "root"}, candidate={"user": "nobody"})

    said = scene.stager("stage", str(scene.desk.playbook), home="roots")

    assert said.code == 11, said.err
    assert run_id in said.document["error"]["message"]
    assert scene.stager("cleanup", run_id).code == 0
