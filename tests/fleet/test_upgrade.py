"""A queue that an older stager had in hand, served by an upgraded one: nothing is stranded, nothing is run blindly."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

import stager
from stager.fleet.database import find_database
from stager.fleet.queue import open_queue
from stager.fleet.rows import VERSION
from stager.models.fleet import Rollout
from tests.fleet.bench import Fleet, overlaps, spans, until
from tests.fleet.standin import Bench, bench, jobs
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


def test_a_rollout_that_an_older_worker_had_begun_goes_on(tmp_path: Path) -> None:
    """Its first wave was queued and given back by the older one: it begins anew, asks for that wave, and goes on."""
    home = tmp_path / "home"
    home.mkdir()
    database = find_database(home)
    first, second, third = jobs(3).waves[0]
    with open_queue(database) as queue:
        queue.prepare(8)
        queue.submit(Rollout(batch="first", waves=((first,),), stop_after=1))
        queue.submit(Rollout(batch="scale", waves=((first,), (second,), (third,)), stop_after=1))
    engine = Engine(database)
    engine.served_by(OLDER)
    for name in ("scale", "scale-0000"):
        engine.put(name, application_version=OLDER, executor_id="host.1.gone")
    engine.close()

    with bench(home) as one:
        until_rollout_ends(one)

        assert one.queue.rollout_ends("scale") == {"scale": {"stopped": "", "withheld": []}}
        assert [(row.job.job_id, row.state) for row in one.queue.rows(batch="scale-")] == [
            ("scale-0002", "done"),
            ("scale-0001", "done"),
            ("scale-0000", "done"),
        ]
        assert len(list((home / "fleet" / "logs").glob("*.log"))) == 3, "each job has one run"


def until_rollout_ends(one: Bench) -> None:
    """Wait until the rollout has ended."""
    end = time.monotonic() + 40
    while one.queue.rollout_ends("scale")["scale"] is None:
        assert time.monotonic() < end, (one.home / "log").read_text()[-3000:]
        time.sleep(0.3)
