"""Ctrl-C, TERM and HUP while a stage is under way: production is asked back at once; the exit code says which."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay

UNITS = ("prod.service", "watchdog.timer")


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)], ids=["TERM", "INT", "HUP"]
)
def test_a_signal_while_the_candidate_loads_brings_production_back_at_once(
    tmp_path: Path, machine: Machine, signum: int, code: int
) -> None:
    """The candidate would load for a minute; production is back within seconds of the signal."""
    lay(machine)
    desk = Desk(tmp_path, machine)
    (desk.playbook.parent / "server" / "serve.py").write_text("import time\ntime.sleep(600)\n")
    desk.write(candidate={"ready": {"timeout": "60s"}, "stop": {"grace": "2s"}})
    before = machine.snapshot(UNITS)
    process = desk.start("stage", str(desk.playbook), "--json")
    assert process.stderr is not None
    for line in process.stderr:
        if "launched" in line:
            break

    asked = time.monotonic()
    os.kill(process.pid, signum)
    out, err = process.communicate(timeout=60)

    assert process.returncode == code, err
    assert time.monotonic() - asked < 25
    error = json.loads(out)["error"]
    assert error["code"] == code
    assert "restored" in error["host_state"]
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_run_refused_is_4_and_untouched(tmp_path: Path, machine: Machine) -> None:
    """`stager run` against a foreign marker ends with 4, as `stage` does, and leaves nothing."""
    lay(machine)
    desk = Desk(tmp_path, machine)
    machine.write("/run/llama/other.maintenance", "")
    before = machine.snapshot(UNITS)

    said = desk.stager("run", str(desk.playbook), "--json")

    assert said.code == 4, said.err
    assert said.document["error"]["host_state"] == "untouched"
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_a_killed_controllers_run_is_cleaned_up_by_its_id(tmp_path: Path, machine: Machine) -> None:
    """The record is there from the first moment: another process of this controller finds the run and ends it."""
    lay(machine)
    desk = Desk(tmp_path, machine)
    (desk.playbook.parent / "server" / "serve.py").write_text("import time\ntime.sleep(600)\n")
    desk.write(candidate={"ready": {"timeout": "60s"}, "stop": {"grace": "2s"}}, guard={"lease": "5m"})
    before = machine.snapshot(UNITS)
    process = desk.start("stage", str(desk.playbook))
    assert process.stdout is not None
    for line in process.stdout:
        if "launched" in line:
            break
    process.kill()
    process.wait()
    (run,) = json.loads(desk.stager("runs", "--json").out)["runs"]

    cleaned = desk.stager("cleanup", run["run_id"], "--json")

    assert cleaned.code == 0, cleaned.err
    assert changes(before, machine.snapshot(UNITS)) == ""
