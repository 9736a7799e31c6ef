"""Workers that are killed again and again: every job ends once, no two runs meet on a host, every host is as before."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fleet.bench import Fleet, overlaps, spans, until
from tests.fleet.postgres import Postgres
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay, watchdog

UNITS = ("prod.service", "watchdog.timer")


def playbooks(desk: Desk, count: int) -> list[str]:
    """Playbooks for one host, each under a name of its own, with a short lease and a small probe."""
    desk.write(guard={"lease": "6s", "deadline": "20m"}, probes={"overlap": {"streams": 2, "max_tokens": 80}})
    document = yaml.safe_load(desk.playbook.read_text())
    paths = []
    for number in range(count):
        path = desk.playbook.with_name(f"job{number}.yaml")
        path.write_text(yaml.safe_dump(document | {"name": f"job{number}"}))
        paths.append(str(path))
    return paths


def mayhem(fleet: Fleet, names: list[str], every: float, over: Callable[[], Any]) -> int:
    """Kill a worker every few seconds, half the time with its runs' processes, and start it again, until it is over."""
    kills = 0
    chance = random.Random(6)
    while not over():
        time.sleep(every * chance.uniform(0.6, 1.4))
        name = names[kills % len(names)]
        fleet.kill(name, with_runs=chance.random() < 0.5)
        kills += 1
        fleet.start(name)
    return kills


def check(fleet: Fleet, hosts: list[Machine], jobs: list[dict[str, Any]], before: list[Any]) -> None:
    """Hold what the queue says against the hosts' journals, and the hosts against how they were."""
    told = {machine.address: [job["run_id"] for job in jobs if job["host"] == machine.address] for machine in hosts}
    for machine, was in zip(hosts, before, strict=True):
        runs = spans(machine)
        assert overlaps(runs) == []
        assert all(run.verdict == "restored" for run in runs), runs
        assert Counter(run.run_id for run in runs) == Counter(told[machine.address]), fleet.words()
        assert changes(was, machine.snapshot(UNITS)) == ""
    endings = Counter(job["ending"] for job in jobs)
    assert set(endings) <= {"done", "interrupted"}, endings
    assert endings["done"], endings
    ended_well = {job["exit_code"] for job in jobs if job["ending"] == "done"}
    assert ended_well <= {0, 6}, fleet.words()  # probed to the end; on a busy machine executing is inconclusive


@pytest.mark.parametrize(
    ("hosts", "jobs", "every"),
    [(2, 6, 12.0), pytest.param(8, 40, 4.0, marks=[pytest.mark.faults, pytest.mark.timeout(1800)])],
)
def test_killed_workers(
    tmp_path: Path, machines: Callable[..., list[Machine]], server: Postgres, hosts: int, jobs: int, every: float
) -> None:
    """Three workers on PostgreSQL, one killed every few seconds: the journals of the hosts account for every job."""
    booted = machines(hosts)
    for machine in booted:
        lay(machine, watchdogs=watchdog(every=10))  # many hosts share this machine
    before = [machine.snapshot(UNITS) for machine in booted]
    desks = [Desk(tmp_path / f"desk{number}", machine) for number, machine in enumerate(booted)]
    paths = [path for each in zip(*(playbooks(desk, jobs // hosts) for desk in desks), strict=True) for path in each]
    fleet = Fleet(tmp_path, database=server.url)
    try:
        fleet.stager("submit", *paths)
        for name in "abc":
            fleet.start(name)
        until(lambda: any(job["state"] == "running" for job in fleet.jobs()), 60, fleet)
        kills = mayhem(fleet, list("abc"), every, lambda: all(job["ending"] for job in fleet.jobs()))
        ended = fleet.until_over(60)
        assert kills >= 1
        assert len(ended) == jobs
        check(fleet, booted, ended, before)
    finally:
        fleet.close()
