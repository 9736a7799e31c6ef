"""A queue in a file: one worker, two hosts, nothing to start besides; and what the morning says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.fleet.bench import Fleet, overlaps, spans, until, verdicts
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import MARKER, lay

UNITS = ("prod.service", "watchdog.timer")


def desks(tmp_path: Path, hosts: list[Machine]) -> list[Desk]:
    """A desk for each host, with production on it."""
    made = []
    for number, machine in enumerate(hosts):
        lay(machine)
        made.append(Desk(tmp_path / f"desk{number}", machine))
    return made


def with_one_slot(desk: Desk) -> Path:
    """A second playbook for a desk's host: another build, which claims four slots and has one."""
    document = yaml.safe_load(desk.playbook.read_text())
    launch = [{"4": "1"}.get(word, word) for word in document["candidate"]["launch"]]
    path = desk.playbook.with_name("second.yaml")
    path.write_text(
        yaml.safe_dump({**document, "name": "second", "candidate": document["candidate"] | {"launch": launch}})
    )
    return path


def marked(machine: Machine) -> bool:
    """Whether the marker is there."""
    return machine.path(MARKER).exists()


def test_three_playbooks_on_two_hosts(tmp_path: Path, machines: Callable[..., list[Machine]], fleet: Fleet) -> None:
    """Jobs of a host go one after the other in their order, hosts side by side; the morning says what came of each."""
    hosts = machines(2)
    one, two = desks(tmp_path, hosts)
    before = [machine.snapshot(UNITS) for machine in hosts]

    told = fleet.stager("submit", str(one.playbook), str(with_one_slot(one)), str(two.playbook))
    assert "no worker serves the queue" in told["warning"]
    fleet.start()
    until(lambda: marked(hosts[1]), 60, fleet)
    hosts[1].sh("touch", MARKER)  # another hand: from now on it is not ours to clear
    jobs = fleet.until_over()

    assert [job["ending"] for job in jobs] == ["done"] * 3, fleet.words()
    assert jobs[0]["exit_code"] in (0, 6), fleet.words()  # on a busy machine a claim may be inconclusive
    assert jobs[1]["exit_code"] == 6, fleet.words()
    assert jobs[2]["exit_code"] == 8, fleet.words()
    first, other = spans(hosts[0]), spans(hosts[1])
    assert [span.run_id for span in first] == [job["run_id"] for job in jobs[:2]]
    assert overlaps(first) == []
    assert [span.verdict for span in (*first, *other)] == ["restored", "restored", "restored, something left"]
    assert jobs[2]["run_id"] < jobs[1]["run_id"]
    assert changes(before[0], hosts[0].snapshot(UNITS)) == ""
    assert marked(hosts[1])
    check_morning(fleet, tmp_path, hosts, jobs)
    assert fleet.stop("a") == 0


def check_morning(fleet: Fleet, folder: Path, hosts: list[Machine], jobs: list[dict[str, Any]]) -> None:
    """Hold the list of runs and the summary, in all its forms, against the hosts' journals and the queue."""
    code, listed, _ = fleet.call("runs", "--since", "1h")
    assert code == 0
    assert {run["run_id"] for run in listed["runs"]} == {job["run_id"] for job in jobs}
    assert fleet.call("runs", "--since", "2100-01-01")[1]["runs"] == []

    pages = ["--markdown", str(folder / "m.md"), "--html", str(folder / "m.html")]
    code, summary, _ = fleet.call("schedule", "morning", "--since", "1h", *pages)
    assert code == summary["exit_code"] == 8, "the gravest of the three"
    assert summary["nights_without_a_run"] == []
    lines = {line["runs"][0]["run_id"]: line for line in summary["builds"]}
    assert set(lines) == {job["run_id"] for job in jobs}
    assert len({(line["host"], line["build_id"]) for line in lines.values()}) == 3
    four, single, touched = (lines[job["run_id"]] for job in jobs)
    assert four["build_id"] == touched["build_id"] != single["build_id"]
    down = verdicts(hosts[0]) | verdicts(hosts[1])
    text, html = (folder / "m.md").read_text(), (folder / "m.html").read_text()
    for job, line in zip(jobs, (four, single, touched), strict=True):
        assert (line["host"], line["playbooks"]) == (job["host"], [job["playbook"]])
        assert line["runs"] == [{"run_id": job["run_id"], "exit_code": job["exit_code"]}]
        assert line["downtime_seconds"] == down[job["run_id"]]["downtime_seconds"] > 0
        assert line["production_as_before"] == down[job["run_id"]]["production_as_before"]
        assert {(claim["probe"], claim["claim"]) for claim in (*line["shown"], *line["not_shown"])} == {
            ("overlap", "generating"),
            ("overlap", "executing"),
        }
        for page in (text, html):
            assert f"{job['host']}: {job['playbook']}" in page
            assert job["run_id"] in page
    assert {claim["claim"] for claim in single["not_shown"]} >= {"generating"}
    assert {claim["claim"] for claim in touched["shown"]} >= {"generating"}
    assert (four["left"], single["left"]) == ([], [])
    (left,) = touched["left"]
    assert left["path"] == MARKER
    for page in (text, html):
        assert MARKER in page
        assert left["why"] in page
    assert "<script" not in html
