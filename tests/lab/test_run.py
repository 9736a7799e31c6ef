"""The main job on a real systemd host, as an operator types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.desk import Desk, changes
from tests.lab.rig.engine import lay_engine
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay

UNITS = ("prod.service", "watchdog.timer")


@pytest.fixture
def desk(tmp_path: Path, machine: Machine) -> Desk:
    """A desk for a host with production on it."""
    lay(machine)
    return Desk(tmp_path, machine)


def test_rehearse_brings_production_back_and_tells_the_downtime(desk: Desk, machine: Machine) -> None:
    """Production goes down and comes up again under the guard; the host is as before."""
    before = machine.snapshot(UNITS)

    said = desk.stager("rehearse", str(desk.playbook), "--json")

    assert said.code == 0, said.err
    assert said.document["cleanup"]["production_as_before"] is True
    assert 0 < said.document["cleanup"]["downtime_seconds"] < 10
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_stage_then_cleanup_leaves_the_host_as_it_was(desk: Desk, machine: Machine) -> None:
    """A staged candidate answers on its port while production is down; cleanup restores exactly what was."""
    before = machine.snapshot(UNITS)

    staged = desk.stager("stage", str(desk.playbook), "--json", "-v")
    assert staged.code == 0, staged.err
    run_id = staged.document["run_id"]
    assert machine.show("prod.service")["prod.service"]["ActiveState"] == "inactive"
    assert staged.document["exchanges"] <= 6 + 3  # the release is uploaded this once

    cleaned = desk.stager("cleanup", run_id, "--json", "-v")
    assert cleaned.code == 0, cleaned.err
    assert cleaned.document["cleanup"]["restored"] == ["prod.service", "watchdog.timer"]
    assert cleaned.document["cleanup"]["markers_cleared"] == ["/run/llama/maintenance"]
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_a_foreign_marker_forbids_the_run(desk: Desk, machine: Machine) -> None:
    """Somebody else's marker makes a run refuse with 4; nothing is touched."""
    machine.write("/run/llama/other.maintenance", "")
    before = machine.snapshot(UNITS)

    said = desk.stager("stage", str(desk.playbook), "--json")

    assert said.code == 4
    assert "/run/llama/other.maintenance" in said.document["error"]["message"]
    assert said.document["error"]["host_state"] == "untouched"
    assert changes(before, machine.snapshot(UNITS)) == ""


@pytest.mark.engine
def test_run_stages_probes_and_cleans_up(tmp_path: Path, engine_machine: Machine) -> None:
    """One command does the whole job with a real engine: four slots generate together, and the host is as before."""
    units = ("llama.service", "watchdog.timer")
    lay_engine(engine_machine)
    desk = Desk(tmp_path, engine_machine)
    desk.real_engine()
    before = engine_machine.snapshot(units)

    said = desk.stager("run", str(desk.playbook), "--json", "--baseline", "overlap", timeout=240)

    document = said.document
    assert said.code == document["exit_code"], said.err
    verdicts = {item["claim"]: item["verdict"] for item in document["evidence"]}
    assert verdicts["generating"] == "passed", document["evidence"][0]["reasons"]
    assert verdicts["executing"] in ("passed", "inconclusive"), document["evidence"][1]["reasons"]
    assert all(item["sample_count"] > 0 and item["not_proven"] for item in document["evidence"])
    peaks = {item["finding"]["claim"]: item["finding"]["verdict"] for item in document["baseline"]}
    assert peaks["generating"] == "failed"  # one slot: production accepts four requests and generates one
    assert document["cleanup"]["production_as_before"] is True
    assert changes(before, engine_machine.snapshot(units)) == ""
