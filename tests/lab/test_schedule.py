"""`stager schedule` on a real machine: what it writes for systemd or cron ticks, asks, runs once a night, and goes."""

from __future__ import annotations

import json
import re
import site
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from stager.fleet.timer import Caller, units
from tests.fleet.bench import spans
from tests.lab.desk import changes, default_playbook
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import SERVER, lay, watchdog
from tests.unit.fleet.cases import schedule

pytestmark = pytest.mark.lab

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = Path(next(folder for folder in site.getsitepackages() if Path(folder).is_dir()))
NAME = "nightly"
UNITS = ("prod.service", "watchdog.timer")
SERVICE, TIMER = f"stager-nightly-{NAME}.service", f"stager-nightly-{NAME}.timer"
PLAYBOOK = """
stager: 1
name: nightly
host: {address: local}
candidate:
  launch: [/bin/sleep, "{port}"]
  engine: openai
  port: 18080
  user: nobody
  limits: {runtime: 10m}
production: {manager: systemd, services: [none-such.service]}
probes: {overlap: {}}
"""


@pytest.fixture
def desk(machines: Callable[..., list[Machine]]) -> Machine:
    """A bookworm host on which this stager is installed (its packages are those of this machine)."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the host's Python 3.11 runs this machine's packages only if they are for 3.11")
    folders = {REPOSITORY, PACKAGES}
    (machine,) = machines(1, read_only=tuple((str(folder), str(folder)) for folder in sorted(folders)))
    machine.write("/usr/local/lib/python3.11/dist-packages/stager.pth", f"{REPOSITORY}\n{PACKAGES}\n")
    machine.write("/etc/stager/nightly.yaml", PLAYBOOK)
    return machine


def stager(machine: Machine, *words: str, check: bool = True) -> Any:
    """Run `stager schedule … --json` there and return its document."""
    done = machine.sh("python3", "-m", "stager", "schedule", *words, "--json", check=check)
    return json.loads(done.stdout)


def add_open_window(machine: Machine) -> Any:
    """Add a schedule whose window opened two minutes ago."""
    now = datetime.now(UTC)
    at, end = now - timedelta(minutes=2), now + timedelta(hours=5)
    words = ["--at", f"{at:%H:%M}", "--until", f"{end:%H:%M}", "--timezone", "UTC"]
    return stager(machine, "add", "/etc/stager/nightly.yaml", *words)


def shown(machine: Machine, unit: str, *names: str) -> dict[str, str]:
    done = machine.sh("systemctl", "show", unit, *(f"-p{name}" for name in names))
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def log(machine: Machine) -> str:
    return machine.sh("journalctl", "--no-pager", "-o", "cat", "-u", SERVICE).stdout


def test_systemd_reads_our_words_back(machine: Machine) -> None:
    """Whatever a path or an environment value holds, the program gets exactly these words."""
    odd = '/srv/100% $HOME ${x} "q" it\'s a\\b;c.yaml'
    machine.write("/opt/a program", '#!/bin/sh\nprintf "%s\\n" "$STAGER_HOME" "$TZ" "$@" >> /tmp/said\n', 0o755)
    caller = Caller(("/opt/a program",), (("STAGER_HOME", "/var/lib/100% home"),))
    item = schedule(name=NAME, playbook=odd)
    made = units(item, caller, datetime.now(UTC).date())
    machine.lay({made.timer: made.timer_text, made.service: made.service_text})
    machine.sh("systemctl", "start", made.service)

    common = ["/var/lib/100% home", "Europe/Berlin"]
    assert machine.read("/tmp/said").splitlines() == [
        *common,
        *("schedule", "due", NAME),
        *common,
        *("run", odd, "--until", "06:00"),
    ]


def test_systemd_has_our_next_night(desk: Machine) -> None:
    """The timer that was written is active, and systemd's own next elapse is the one that was said."""
    words = ["--at", "03:30", "--until", "07:00", "--timezone", "America/New_York"]
    document = stager(desk, "add", "/etc/stager/nightly.yaml", *words)
    timer = shown(desk, TIMER, "ActiveState", "NextElapseUSecRealtime")
    (listed,) = stager(desk, "list")["schedules"]

    assert timer["ActiveState"] == "active"
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", timer["NextElapseUSecRealtime"])
    elapse = desk.sh("date", "-u", "-d", timer["NextElapseUSecRealtime"], "+%F %H:%M").stdout.strip()
    said = desk.sh("date", "-u", "-d", document["next"], "+%F %H:%M").stdout.strip()
    assert elapse == said
    assert (listed["kind"], listed["trouble"]) == ("systemd", "")


def test_a_night_runs_once(desk: Machine) -> None:
    """The service asks, claims the night and calls the run; started again it is skipped by its condition."""
    add_open_window(desk)
    desk.sh("systemctl", "start", SERVICE, check=False)
    first = shown(desk, SERVICE, "ExecMainStartTimestampMonotonic", "Result")
    desk.sh("systemctl", "start", SERVICE, check=False)
    second = shown(desk, SERVICE, "Result", "ActiveState")

    assert int(first["ExecMainStartTimestampMonotonic"]) > 0, log(desk)
    assert second["Result"] == "exec-condition", log(desk)
    assert "already had its run" in log(desk)
    assert stager(desk, "list")["schedules"][0]["last_night"] is not None


def test_a_missed_start_is_made_up_for(desk: Machine) -> None:
    """A machine that was off when the window opened starts the run as soon as the timer is there again."""
    stamp = f"/var/lib/systemd/timers/stamp-{TIMER}"
    desk.write(stamp, "")
    desk.sh("touch", "-d", "2 days ago", stamp)
    add_open_window(desk)

    until(lambda: stager(desk, "list")["schedules"][0]["last_night"], "the claim of the night", 30)


def test_removed_without_a_trace(desk: Machine) -> None:
    """After the removal systemd knows neither unit, and no file of them is left."""
    before = desk.sh("find", "/etc/systemd", "-newer", "/etc/stager/nightly.yaml", "-type", "f").stdout
    add_open_window(desk)
    stager(desk, "remove", NAME)

    assert shown(desk, TIMER, "LoadState")["LoadState"] == "not-found"
    assert shown(desk, SERVICE, "LoadState")["LoadState"] == "not-found"
    assert desk.sh("find", "/etc/systemd", "-newer", "/etc/stager/nightly.yaml", "-type", "f").stdout == before
    assert desk.sh("find", "/etc/systemd", "-name", "*stager*").stdout == ""


def ended(desk: Machine) -> list[dict[str, Any]]:
    """The records of the runs that have ended."""
    runs = json.loads(desk.sh("python3", "-m", "stager", "runs", "--json").stdout)["runs"]
    return [run for run in runs if run["exit_code"] is not None]


@pytest.mark.timeout(420)
def test_cron_starts_the_run(desk: Machine, tmp_path: Path) -> None:
    """Debian's cron fires the entry in its minute: one whole run of that night, and afterwards the lines are gone."""
    lay(desk, watchdogs=watchdog(every=10))
    before = desk.snapshot(UNITS)
    document = default_playbook(desk) | {"name": NAME, "host": {"address": "local"}, "markers": {}}
    desk.write("/etc/stager/nightly.yaml", yaml.safe_dump(document))
    desk.write("/etc/stager/server/serve.py", SERVER.read_text())
    theirs = "# another's\n0 4 * * * true\n"
    desk.sh("crontab", "-", given=theirs)
    now = datetime.now(UTC)
    at, end = now + timedelta(seconds=75), now + timedelta(hours=5)
    window = ["--at", f"{at:%H:%M}", "--until", f"{end:%H:%M}", "--timezone", "UTC"]

    shown_first = stager(desk, "add", "/etc/stager/nightly.yaml", *window, "--mechanism", "cron")
    (listed,) = stager(desk, "list")["schedules"]
    assert (listed["kind"], listed["trouble"]) == ("cron", "")
    table = desk.sh("crontab", "-l").stdout
    assert all(line in shown_first["shown"] for line in table.splitlines()[2:])
    assert desk.sh("find", "/etc/systemd", "-name", "*stager*").stdout == ""

    (run,) = until(lambda: [one for one in spans(desk) if one.verdict], "the night's run", 200)
    (record,) = until(lambda: ended(desk), "its record, which is written after the host's verdict", 30)
    assert run.verdict == "restored"
    assert (record["run_id"], record["exit_code"] in (0, 6), len(record["evidence"])) == (run.run_id, True, 2)
    assert stager(desk, "list")["schedules"][0]["last_night"] == f"{at:%Y-%m-%d}"
    stager(desk, "remove", NAME)
    assert desk.sh("crontab", "-l").stdout == theirs

    def left() -> list[str]:
        """What is not as before, but for the table, which is looked at above."""
        return [line for line in changes(before, desk.snapshot(UNITS)).splitlines() if "/crontabs/root: " not in line]

    with suppress(TimeoutError):  # the guard is just leaving
        until(lambda: not left(), "the guard to leave", 30)
    assert left() == []
