"""The commands between stage and cleanup, one after the other on one staged run."""

from __future__ import annotations

from pathlib import Path

from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay

UNITS = ("prod.service", "watchdog.timer")


def test_a_staged_run_is_looked_at_verified_extended_and_cleaned_up(tmp_path: Path, machine: Machine) -> None:
    """Status, logs, extend, verify, show and a second stage (11) work on a staged run; cleanup ends it."""
    lay(machine)
    desk = Desk(tmp_path, machine)
    before = machine.snapshot(UNITS)
    staged = desk.stager("stage", str(desk.playbook), "--hold", "5m", "--json")
    assert staged.code == 0, staged.err
    run_id = staged.document["run_id"]

    status = desk.stager("status", str(desk.playbook), "--json").document
    (held,) = [run for run in status["runs"] if run["run_id"] == run_id]
    assert held["state"] == "staged"
    assert set(held["guard_legs"]) == {"lease", "cap", "boot"}
    assert 200 < held["lease_seconds_left"] <= 300
    assert held["build_id"] == staged.document["build_id"]
    assert [marker["ours"] for marker in status["markers"]] == [True]
    assert {unit["name"]: unit["now"].split()[0] for unit in status["units"]} == dict.fromkeys(UNITS, "inactive")

    second = desk.stager("stage", str(desk.playbook), "--json")
    assert second.code == 11
    assert run_id in second.document["error"]["message"]
    assert "since" in second.document["error"]["message"]
    assert second.document["error"]["next"]

    extended = desk.stager("extend", run_id[:20], "8m", "--json")
    assert extended.code == 0, extended.err
    assert extended.document["lease_seconds_left"] > 400
    more = desk.stager("extend", run_id, "10m", "--json")  # the whole of its runtime, of which some is over
    assert more.code == 0, more.err
    assert more.document["limited_by"] == "candidate/limits/runtime"
    assert more.document["lease_seconds_left"] < 600
    assert "more than candidate/limits/runtime leaves" in " ".join(more.err.split())
    too_long = desk.stager("extend", run_id, "3h", "--json")
    assert too_long.code == 3

    verified = desk.stager("verify", run_id, "--probe", "truth", "--json")
    assert verified.code in (0, 6), verified.err
    (evidence,) = verified.document["evidence"]
    assert evidence["run_id"] == run_id
    assert evidence["build_id"] == staged.document["build_id"]
    assert evidence["launch"] == staged_launch(machine, run_id)

    logs = desk.stager("logs", run_id, "--json")
    assert logs.code == 0, logs.err

    cleaned = desk.stager("cleanup", run_id, "--json", "-v")
    assert cleaned.code == 0, cleaned.err
    assert "3 request/answer exchanges" in cleaned.err
    shown = desk.stager("show", run_id)
    assert shown.code == 0
    assert "unit.stop prod.service" in shown.out
    assert "verdict" in shown.out
    again = desk.stager("cleanup", run_id, "--json")
    assert again.code == 0
    assert again.document["verdict"] == "restored"
    assert changes(before, machine.snapshot(UNITS)) == ""


def staged_launch(machine: Machine, run_id: str) -> str:
    """The InvocationID of the candidate's unit."""
    unit = f"stager-candidate-{run_id}.service"
    return machine.sh("systemctl", "show", "-p", "InvocationID", "--value", unit).stdout.strip()
