"""A schedule as crontab lines, where there is no systemd: text as pure functions.

cron knows only its own time zone. The window's start is therefore written at every machine-local time it falls on in
the coming years, and ``stager schedule due`` lets exactly one of them through each night. ``@reboot`` catches a start
that was missed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from stager.fleet.schedule import Schedule
from stager.fleet.timer import Caller, run_words
from stager.fleet.window import EVERY_DAY, Window

YEARS_AHEAD = timedelta(days=5 * 366)


def tag(name: str) -> str:
    """How the schedule's lines end."""
    return f"# stager schedule {name}"


def entries(schedule: Schedule, caller: Caller, machine: ZoneInfo, today: date) -> list[str]:
    """Return the schedule's crontab lines; ``machine`` is the time zone cron runs in."""
    job = f"{_job(schedule, caller)} {tag(schedule.name)}"
    times = sorted(fire_times(schedule.window(), machine, today))
    return [*(f"{minute} {hour} * * {days} {job}" for hour, minute, days in times), f"@reboot {job}"]


def fire_times(window: Window, machine: ZoneInfo, today: date) -> set[tuple[int, int, str]]:
    """Return hour, minute and days (cron's: Sunday 0) of every machine-local moment the window starts at."""
    found: dict[tuple[int, int], set[int]] = {}
    for night in takewhile(lambda night: night.day < today + YEARS_AHEAD, window.nights(today)):
        local = night.start.astimezone(machine)
        found.setdefault((local.hour, local.minute), set()).add((local.weekday() + 1) % 7)
    return {(hour, minute, _days(days)) for (hour, minute), days in found.items()}


def _days(days: set[int]) -> str:
    return "*" if len(days) == len(EVERY_DAY) else ",".join(str(day) for day in sorted(days))


def _job(schedule: Schedule, caller: Caller) -> str:
    due = shlex.join([*caller.program, "schedule", "due", "--cron", schedule.name])
    run = shlex.join([*caller.program, *run_words(schedule)])
    environment = shlex.join(f"{name}={value}" for name, value in (*caller.environment, ("TZ", schedule.timezone)))
    # The secrets stay in their file: the shell exports what it reads there, for the run alone.
    secrets = f"set -a && . {shlex.quote(caller.secrets_file)} && " if caller.secrets_file else ""
    # cron turns a bare % into a line break, also within quotes. Jitter is slept out by `due`, which knows the window.
    return f"env {environment} {due} && {secrets}env {environment} {run}".replace("%", "\\%")


def of(lines: Iterable[str], name: str) -> list[str]:
    """Return the schedule's lines in a crontab."""
    return [line for line in lines if line.endswith(tag(name))]


def joined(lines: Sequence[str]) -> str:
    """Return a crontab's text."""
    return "".join(f"{line}\n" for line in lines)
