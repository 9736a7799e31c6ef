"""Nights of a fleet: the same windows as on one machine, asked for by the workers of a queue.

The engine asks every few minutes while a window may be open; the answer is the window's own (`decide`), so that changes
of the clocks and missed starts are what they are on one machine. A night's jobs have the night in their names: whoever
asks twice, or two at once, queues them once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.fleet.due import decide
from stager.fleet.files import submission, with_terms
from stager.fleet.jobs import playbook_of
from stager.fleet.queue import Queue
from stager.fleet.schedule import Schedule
from stager.fleet.until import run_times
from stager.fleet.window import Window, format_days
from stager.models.base import Model
from stager.models.fleet import Job, Rollout
from stager.models.texts import Count, OneLine

#: Minutes between two questions in an open window.
EVERY = 10
PREFIX = "night"


class FleetNight(Model):
    """A night of a fleet: its window, and the playbooks or the fleet file it runs."""

    schedule: Schedule
    paths: tuple[OneLine, ...]
    held_for: float = 600.0
    attempts: Count = 1


def cron_of(window: Window) -> str:
    """Return when to ask: from the hour the window opens to the hour it closes, each ``EVERY`` minutes, local time.

    The hours of two days are asked for where it crosses midnight; `decide` knows which of them are in the window.
    """
    hours = [window.at.hour]
    while hours[-1] != window.until.hour:
        hours.append((hours[-1] + 1) % 24)
    minutes = sorted({window.at.minute, *range(window.at.minute % EVERY, 60, EVERY)})
    return f"{','.join(map(str, minutes))} {','.join(map(str, sorted(set(hours))))} * * *"


def batch_of(name: str, night: date) -> str:
    """Return the name of a night's submission."""
    return f"{PREFIX}-{name}-{night.isoformat()}"


def begin_night(context: dict[str, Any], queue: Queue, clock: Clock) -> dict[str, Any]:
    """Queue a night's jobs if its window is open and they fit, and say why not otherwise.

    Raises:
        DatabaseGone: no answer.
    """
    night = read_night(context)
    now, name = clock.now(), night.schedule.name
    today = night.schedule.window().tonight(now)
    said: dict[str, Any] = {"schedule": name, "night": today.day.isoformat() if today else None, "starts": False}
    if today is None:
        return {**said, "reason": "outside the window"}
    if queue.known(batch_of(name, today.day)):
        return {**said, "reason": "its jobs are queued already"}
    try:
        rollout = jobs_of(night, batch_of(name, today.day), now, today.end)
        times = min((run_times(playbook_of(job)) for job in _all(rollout)), key=lambda times: times.worst)
        due = decide(night.schedule, now, times, ())
    except Exception as error:  # noqa: BLE001 - a playbook that is wrong at night is the morning's news
        return {**said, "reason": str(error)}
    if not due.starts:
        return {**said, "reason": due.reason}
    queue.submit(rollout)
    return {**said, "starts": True, "reason": ""}


def jobs_of(night: FleetNight, batch: str, now: datetime, until: datetime) -> Rollout:
    """Return a night's jobs as its files are now.

    Raises:
        InvalidFile, Refused: what `submission` raises.
    """
    made = submission([Path(path) for path in night.paths], batch, now)
    return with_terms(made, until=until, held_for=night.held_for, attempts=night.attempts)


def read_night(context: dict[str, Any]) -> FleetNight:
    """Return a night as the queue keeps it."""
    return FleetNight.model_validate_json(json.dumps(context))


def describe(night: FleetNight) -> str:
    """Return a night's window for people."""
    schedule = night.schedule
    days = format_days(schedule.window().days)
    return f"{schedule.at}-{schedule.until} {schedule.timezone} {days}"


def _all(rollout: Rollout) -> Iterable[Job]:
    return (job for wave in rollout.waves for job in wave)
