"""A nightly schedule as a value, and what speaks against adding one: short nights, two on one host. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Annotated

from pydantic import StringConstraints

from stager.fleet.window import Night, Window, find_zone, parse_days, parse_time
from stager.models.base import Model
from stager.models.quantities import Duration, format_duration

#: How far ahead nights are looked at: every change of the clocks is in it once.
AHEAD = timedelta(days=366)
#: So many nights may meet another schedule's before that forbids it: the nights of the year whose clocks change.
ODD_NIGHTS = 2

#: Fit for a unit's name, a folder's, and the end of a crontab line.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ScheduleName = Annotated[str, StringConstraints(pattern=NAME)]


class Schedule(Model):
    """One playbook in one nightly window. ``worst`` is the run's worst case when it was added (seconds)."""

    name: ScheduleName
    playbook: str
    host: str
    at: str
    until: str
    timezone: str
    days: str = "daily"
    jitter: Duration = 0.0
    worst: Duration
    added: str
    paused: bool = False

    def window(self) -> Window:
        """Return the window; what `Window` raises."""
        return Window(parse_time(self.at), parse_time(self.until), find_zone(self.timezone), parse_days(self.days))

    def latest_end(self, night: Night) -> datetime:
        """When the worst case of a run that starts as late as jitter allows has ended."""
        return night.start + timedelta(seconds=self.jitter + self.worst)


@dataclass(frozen=True, slots=True)
class Objections:
    """What speaks against a schedule: ``refused`` forbids it, ``warned`` is said."""

    refused: tuple[str, ...]
    warned: tuple[str, ...]


def objections(schedule: Schedule, others: Iterable[Schedule], today: date) -> Objections:
    """Look at a year of nights and at the other schedules, and return everything that speaks against this one.

    What holds for most nights forbids the schedule; the odd night, such as one whose clocks change, is only named.
    """
    refused: list[str] = []
    warned: list[str] = []
    nights = year(schedule, today)
    short = [night for night in nights if schedule.latest_end(night) > night.end]
    if len(short) > len(nights) / 2:
        refused.append(
            f"The nights are too short: {schedule.at} to {schedule.until} against {_duration(schedule.jitter)} of "
            f"jitter and a worst case of {_duration(schedule.worst)}."
        )
    elif short:
        days = ", ".join(f"{night.day} ({_duration(night.length.total_seconds())})" for night in short[:5])
        warned.append(f"{len(short)} night(s) of the coming year are too short and will be left out: {days}.")
    for other in others:
        if other.name == schedule.name or other.host != schedule.host:
            continue
        clashes = list(clashing(schedule, other, today))
        if not clashes:
            continue
        sentence = (
            f"Schedule {other.name} uses {other.host} at the same time on {len(clashes)} night(s) of the coming year, "
            f"first on {clashes[0].day}: {other.at} to {other.until} {other.timezone}, "
            f"worst case {_duration(other.worst)}"
        )
        if len(clashes) > ODD_NIGHTS:
            refused.append(f"{sentence}.")
        else:
            warned.append(f"{sentence}; the later of the two will find the host held.")
    return Objections(tuple(refused), tuple(warned))


def year(schedule: Schedule, today: date) -> Sequence[Night]:
    """Return the nights of the coming year."""
    nights = schedule.window().nights(today)
    return list(takewhile(lambda night: night.day < today + AHEAD, nights))


def clashing(one: Schedule, other: Schedule, today: date) -> Iterator[Night]:
    """Yield the nights of ``one`` in the coming year in which both might hold the host."""
    busy = list(_spans(other, today))
    for night, (start, end) in zip(year(one, today), _spans(one, today), strict=True):
        if any(begins < end and start < ends for begins, ends in busy):
            yield night


def _spans(schedule: Schedule, today: date) -> Iterator[tuple[datetime, datetime]]:
    for night in year(schedule, today):
        yield night.start, min(schedule.latest_end(night), night.end)


def next_start(schedule: Schedule, now: datetime) -> str:
    """Return the next night's start, local to the window, for people and scripts."""
    window = schedule.window()
    return f"{window.next(now).start.astimezone(window.zone):%Y-%m-%d %H:%M %Z}"


def _duration(seconds: float) -> str:
    return format_duration(round(seconds))
