"""A queue in a file: one worker, two hosts, nothing to start besides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fleet.bench import Fleet, overlaps, spans
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay

UNITS = ("prod.service", "watchdog.timer")


def desks(tmp_path: Path, hosts: list[Machine]) -> list[Desk]:
    """A desk for each host, with production on it."""
    made = []
    for number, machine in enumerate(hosts):
        lay(machine)
        made.append(Desk(tmp_path / f"desk{number}", machine))
    return made


def test_three_playbooks_on_two_hosts(tmp_path: Path, machines: Callable[..., list[Machine]], fleet: Fleet) -> None:
    """Jobs of a host go one after the other in their order, hosts side by side; both hosts are as before."""
    hosts = machines(2)
    one, two = desks(tmp_path, hosts)
    before = [machine.snapshot(UNITS) for machine in hosts]
    second = one.playbook.with_name("second.yaml")
    second.write_text(one.playbook.read_text().replace("name: lab", "name: second"))

    told = fleet.stager("submit", str(one.playbook), str(second), str(two.playbook))
    assert "no worker serves the queue" in told["warning"]
    fleet.start()
    jobs = fleet.until_over()

    assert [job["ending"] for job in jobs] == ["done"] * 3, fleet.words()
    assert all(job["exit_code"] in (0, 6) for job in jobs), fleet.words()
    first, other = spans(hosts[0]), spans(hosts[1])
    assert [span.run_id for span in first] == [job["run_id"] for job in jobs[:2]]
    assert overlaps(first) == []
    assert [span.verdict for span in (*first, *other)] == ["restored"] * 3
    assert jobs[2]["run_id"] < jobs[1]["run_id"]
    for machine, was in zip(hosts, before, strict=True):
        assert changes(was, machine.snapshot(UNITS)) == ""
    assert fleet.stop("a") == 0
