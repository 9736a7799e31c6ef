"""What may happen to a job: its host is held, it is cancelled, its worker dies, the database is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.bench import Fleet, overlaps, spans, until
from tests.fleet.postgres import Postgres
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay, watchdog

UNITS = ("prod.service", "watchdog.timer")
#: A probe that takes long enough for something to happen meanwhile (seconds: some 15).
LONG = {"overlap": {"streams": 2, "max_tokens": 3000}}


@pytest.fixture
def desk(tmp_path: Path, machine: Machine) -> Desk:
    """A desk for a host with production on it, a short lease, and a long probe."""
    lay(machine, watchdogs=watchdog(every=10))
    made = Desk(tmp_path / "desk", machine)
    made.write(guard={"lease": "6s", "deadline": "20m"}, probes=LONG)
    return made


def test_a_held_host_is_waited_for(desk: Desk, machine: Machine, fleet: Fleet) -> None:
    """While a person holds the host the job waits, and goes on when the host is free."""
    before = machine.snapshot(UNITS)
    staged = desk.stager("stage", str(desk.playbook), "--hold", "5m", "--json").document
    desk.write(probes={"overlap": {"streams": 2, "max_tokens": 80}})
    fleet.stager("submit", str(desk.playbook), "--held-for", "5m")
    fleet.start()
    until(lambda: staged["run_id"] in fleet.jobs()[0]["message"], 60, fleet)

    assert desk.stager("cleanup", staged["run_id"], "--json").code == 0
    (job,) = fleet.until_over()

    assert job["ending"] == "done", fleet.words()
    runs = spans(machine)
    assert [run.run_id for run in runs] == [staged["run_id"], job["run_id"]]
    assert overlaps(runs) == []
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_a_cancelled_job_cleans_up(desk: Desk, machine: Machine, fleet: Fleet) -> None:
    """A job that runs takes its candidate down and puts production back; one that was queued never begins."""
    before = machine.snapshot(UNITS)
    batch = fleet.stager("submit", str(desk.playbook), str(desk.playbook))["batch"]
    fleet.start()
    until(lambda: "overlap" in fleet.words(), 90, fleet)

    fleet.stager("cancel", batch)
    first, second = fleet.until_over()

    assert (first["ending"], first["exit_code"]) == ("cancelled", 143), fleet.words()
    assert (second["state"], second["run_id"]) == ("cancelled", "")
    assert [(run.run_id, run.verdict) for run in spans(machine)] == [(first["run_id"], "restored")]
    assert changes(before, machine.snapshot(UNITS)) == ""


def test_a_dead_workers_job_is_settled_by_another(
    desk: Desk, machine: Machine, tmp_path: Path, server: Postgres
) -> None:
    """The host restores by its lease; another worker asks it how the run ended, and only then runs the job again."""
    before = machine.snapshot(UNITS)
    fleet = Fleet(tmp_path, database=server.url, options=("--dead-after", "8"))
    try:
        fleet.stager("submit", str(desk.playbook), "--attempts", "2")
        fleet.start("a")
        until(lambda: "overlap" in fleet.words(), 90, fleet)
        fleet.kill("a", with_runs=True)  # at once: the probe lasts some fifteen seconds
        (first,) = (log.stem for log in (fleet.home("a") / "fleet" / "logs").glob("*.log"))
        fleet.start("b")
        (job,) = fleet.until_over(home="b")

        runs = spans(machine)
        assert [run.run_id for run in runs] == [first, job["run_id"]], fleet.words()
        assert (runs[0].verdict, runs[0].reason) == ("restored", "lease over")
        assert overlaps(runs) == []
        assert job["ending"] == "done"
        assert (fleet.home("b") / "runs" / first / "record.json").is_file()  # the cut run is in the morning's answer
        assert changes(before, machine.snapshot(UNITS)) == ""
    finally:
        fleet.close()


def test_without_its_database_a_run_ends_and_nothing_starts(
    desk: Desk, machine: Machine, tmp_path: Path, server: Postgres
) -> None:
    """The run under way finishes and restores while the database is gone; the next begins when it is back."""
    before = machine.snapshot(UNITS)
    fleet = Fleet(tmp_path, database=server.url)
    try:
        fleet.stager("submit", str(desk.playbook), str(desk.playbook))
        fleet.start()
        until(lambda: "overlap" in fleet.words(), 90, fleet)
        server.stop()
        (first,) = until(lambda: [run for run in spans(machine) if run.verdict], 90, fleet)
        assert (first.verdict, first.reason) == ("restored", "run over")
        until(lambda: changes(before, machine.snapshot(UNITS)) == "", 30, fleet)  # the guard is just leaving
        until(lambda: "does not answer" in fleet.words(), 30, fleet)
        assert len(spans(machine)) == 1

        server.start()
        jobs = fleet.until_over()

        assert [job["ending"] for job in jobs] == ["done", "done"], fleet.words()
        assert [run.run_id for run in spans(machine)] == [job["run_id"] for job in jobs]
    finally:
        fleet.close()
