"""A queue that an older stager had in hand, served by an upgraded one: nothing is stranded, nothing is run blindly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import stager
from stager.fleet.database import find_database
from stager.fleet.queue import open_queue
from stager.fleet.rows import VERSION
from tests.fleet.bench import Fleet, overlaps, spans, until
from tests.fleet.standin import bench, jobs
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay, watchdog
from tests.unit.fleet.engine import OLDER, Engine

UNITS = ("prod.service", "watchdog.timer")
PACKAGE = Path(stager.__file__).parent


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A folder with a stager whose workflows have another version, and other steps than ours: no replay could go on."""
    folder = tmp_path / "older"
    shutil.copytree(PACKAGE, folder / "stager", ignore=shutil.ignore_patterns("__pycache__"))
    for name, ours, theirs in (
        ("rows.py", f'VERSION = "{VERSION}"', 'VERSION = "stager-fleet-older"'),
        ("workflows.py", '@DBOS.step(name="name a run")', '@DBOS.step(name="give it a name")'),
    ):
        path = folder / "stager" / "fleet" / name
        text = path.read_text()
        assert text.count(ours) == 1
        path.write_text(text.replace(ours, theirs))
    return folder


def test_an_older_stagers_jobs_are_not_stranded(tmp_path: Path, machine: Machine, fleet: Fleet, older: Path) -> None:
    """The job it had begun ends by its host's journal and is not run again; the one it had queued is carried out."""
    lay(machine, watchdogs=watchdog(every=10))
    before = machine.snapshot(UNITS)
    desk = Desk(tmp_path / "desk", machine)
    desk.write(guard={"lease": "6s", "deadline": "20m"}, probes={"overlap": {"streams": 2, "max_tokens": 3000}})
    short = desk.playbook.with_name("short.yaml")
    short.write_text(desk.playbook.read_text().replace("name: lab", "name: short").replace("3000", "80"))

    fleet.start(source=older)
    until(lambda: "serves" in fleet.words(), 30, fleet)
    fleet.stager("submit", str(desk.playbook), str(short), source=older)
    until(lambda: "overlap" in fleet.words(), 90, fleet)
    fleet.kill("a", with_runs=True)
    (begun,) = spans(machine)
    fleet.start()
    first, second = fleet.until_over()

    assert (first["run_id"], first["ending"], first["exit_code"]) == (begun.run_id, "interrupted", 143), fleet.words()
    assert (second["playbook"], second["ending"]) == ("short", "done"), fleet.words()
    runs = spans(machine)
    assert [run.run_id for run in runs] == [begun.run_id, second["run_id"]]
    assert [(run.verdict, run.reason) for run in runs] == [("restored", "lease over"), ("restored", "run over")]
    assert overlaps(runs) == []
    record = json.loads((fleet.home("a") / "runs" / begun.run_id / "record.json").read_text())
    assert record["cleanup"]["production_as_before"] is True
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_a_job_put_back_under_a_worker_long_struck_off_is_carried_out(tmp_path: Path) -> None:
    """An older worker's recovery gave it back and had no place for it before the upgrade: the new worker takes it."""
    home = tmp_path / "home"
    home.mkdir()
    database = find_database(home)
    with open_queue(database) as queue:
        queue.prepare(8)
        queue.submit(jobs(1))
    engine = Engine(database)
    engine.served_by(OLDER)
    engine.put("scale-0000", application_version=OLDER, executor_id="host.1.gone")
    engine.close()

    with bench(home) as one:
        one.until_over("scale", 30)

        (row,) = one.queue.rows()
        assert (row.state, row.told is not None) == ("done", True)
