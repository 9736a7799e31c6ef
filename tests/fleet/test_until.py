"""A night run that hangs: the guard's hard end brings production back before the time that was promised."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stager.fleet.until import run_times
from stager.loading import load_playbook
from tests.fleet.bench import spans
from tests.lab.desk import Desk, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import lay, watchdog

UNITS = ("prod.service", "watchdog.timer")


@pytest.fixture
def desk(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk whose machine lives in UTC, with a lease longer than the test: only the cap can end a run that hangs."""
    monkeypatch.setenv("TZ", "UTC")
    lay(machine, watchdogs=watchdog(every=10))
    made = Desk(tmp_path, machine)
    candidate = {"ready": {"timeout": "15s"}, "stop": {"grace": "2s"}}
    healthy = {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "15s"}
    probes = {"overlap": {"streams": 2, "max_tokens": 80, "time_limit_s": 15}}
    made.write(
        candidate=candidate, production={"healthy": healthy}, guard={"lease": "15m", "deadline": "20m"}, probes=probes
    )
    return made


def test_a_run_that_does_not_fit_is_refused(desk: Desk, machine: Machine) -> None:
    """Less is left than the worst case: exit 4 with the numbers, and the host was not even asked."""
    end = datetime.now(UTC) + timedelta(seconds=80)  # cut to its minute: 20 to 80 seconds from now
    before = machine.snapshot(UNITS)

    said = desk.stager("run", str(desk.playbook), "--until", f"{end:%H:%M}", "--json")

    assert said.code == 4
    assert "worst case" in said.document["error"]["message"]
    assert spans(machine) == []
    assert changes(before, machine.snapshot(UNITS)) == ""


@pytest.mark.faults  # it waits for a time of day: two to three minutes
@pytest.mark.timeout(600)
def test_a_run_that_hangs_is_cut_at_the_cap(desk: Desk, machine: Machine) -> None:
    """The controller stands still in mid-run and its lease goes on; production is back, and healthy, before the end."""
    before = machine.snapshot(UNITS)
    times = run_times(load_playbook(desk.playbook).playbook)
    end = (datetime.now(UTC) + timedelta(seconds=times.worst + 75)).replace(second=0, microsecond=0)

    running = desk.start("run", str(desk.playbook), "--until", f"{end:%H:%M}", "--json")
    until(lambda: machine.show("prod.service")["prod.service"]["ActiveState"] == "inactive", "the way down", 60)
    running.send_signal(signal.SIGSTOP)
    try:
        (span,) = until(lambda: [run for run in spans(machine) if run.verdict], "the verdict", times.worst + 90)
        back = datetime.now(UTC)
    finally:
        running.send_signal(signal.SIGCONT)
    running.communicate(timeout=120)

    assert (span.verdict, span.reason) == ("restored", "deadline")
    assert back < end, f"production was promised back at {end} and was at {back}"
    assert running.returncode in (9, 11), "a controller that wakes up late hears that its run is over"
    until(lambda: changes(before, machine.snapshot(UNITS)) == "", "the guard to leave", 30)
