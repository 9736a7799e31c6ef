"""Crontab lines: the window's start is among their times in any zone, and the shell reads our words back."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from stager.fleet import cron
from tests.unit.fleet.cases import CALLER, schedule

TODAY = date(2026, 11, 29)
BERLIN = ZoneInfo("Europe/Berlin")


def test_in_its_own_zone_one_line_and_one_for_boot() -> None:
    """Where cron's zone is the window's, there is one time, and a line for the start after a missed one."""
    lines = cron.entries(schedule(), CALLER, BERLIN, TODAY)

    assert [line.split(" env ")[0] for line in lines] == ["30 1 * * *", "@reboot"]
    assert all(line.endswith("# stager schedule batch4") for line in lines)


@pytest.mark.parametrize(
    ("machine", "times"),
    [("UTC", {(0, 30, "*"), (23, 30, "*")}), ("Asia/Kolkata", {(6, 0, "*"), (5, 0, "*")})],
)
def test_in_another_zone_every_time_it_falls_on(machine: str, times: set[tuple[int, int, str]]) -> None:
    """Summer and winter time give two starts in a zone without them."""
    assert cron.fire_times(schedule().window(), ZoneInfo(machine), TODAY) == times


def test_days_move_with_the_zone() -> None:
    """A start on Monday in Berlin is a Sunday evening in New York (cron's Sunday is 0)."""
    times = cron.fire_times(schedule(days="mon").window(), ZoneInfo("America/New_York"), TODAY)

    assert {days for _, _, days in times} == {"0"}


@pytest.mark.parametrize("machine", ["Europe/Berlin", "UTC", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("at", ["01:30", "02:30"])
def test_every_night_of_two_years_has_a_line(machine: str, at: str) -> None:
    """No night's start is without a line that fires at exactly that moment."""
    zone = ZoneInfo(machine)
    window = schedule(at=at).window()
    times = cron.fire_times(window, zone, TODAY)
    for night in islice(window.nights(TODAY), 730):
        local = night.start.astimezone(zone)
        days = [days for hour, minute, days in times if (hour, minute) == (local.hour, local.minute)]

        assert days
        assert days[0] == "*" or str((local.weekday() + 1) % 7) in days[0].split(",")


def test_the_shell_reads_our_words_back(tmp_path: Path) -> None:
    """As cron's shell runs it, the line asks first, then runs, with our words, zone and secrets."""
    said = tmp_path / "said"
    program = tmp_path / "stager prog"
    program.write_text(f'#!/bin/sh\necho "$TZ|$TOKEN|$*" >> "{said}"\n')
    program.chmod(0o755)
    secrets = tmp_path / "secret values"
    secrets.write_text("TOKEN='s p'\n")
    caller = replace(CALLER, program=(str(program),), secrets_file=str(secrets))
    (line, _) = cron.entries(schedule(playbook="/srv/it's 100%.yaml"), caller, BERLIN, TODAY)
    job = line.removeprefix("30 1 * * * ").replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", job], check=True)

    assert said.read_text().splitlines() == [
        "Europe/Berlin||schedule due --cron batch4",
        "Europe/Berlin|s p|run /srv/it's 100%.yaml --until 06:00",
    ]


def test_a_night_not_due_runs_nothing(tmp_path: Path) -> None:
    """If the question is answered with no, the run is not called."""
    said = tmp_path / "said"
    program = tmp_path / "stager"
    program.write_text(f'#!/bin/sh\necho "$1" >> "{said}"\n[ "$1" = run ]\n')
    program.chmod(0o755)
    (line, _) = cron.entries(schedule(), replace(CALLER, program=(str(program),)), BERLIN, TODAY)
    subprocess.run(["/bin/sh", "-c", line.removeprefix("30 1 * * * ")], check=False)

    assert said.read_text() == "schedule\n"


def test_a_percent_sign_survives_cron() -> None:
    """A bare percent sign would end cron's command; it is escaped."""
    (line, _) = cron.entries(schedule(playbook="/srv/100%.yaml"), CALLER, BERLIN, TODAY)

    assert "100\\%.yaml" in line
    assert "%" not in line.replace("\\%", "")


def test_our_lines_are_known_by_their_end() -> None:
    """Another schedule's lines, and everybody else's, are not taken for ours."""
    mine = cron.entries(schedule(), CALLER, BERLIN, TODAY)
    theirs = ["MAILTO=ops", "0 4 * * * backup", "0 5 * * * x # stager schedule batch44"]

    assert cron.of([*theirs, *mine], "batch4") == mine
