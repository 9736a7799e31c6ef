"""A nightly window as instants: days, time-zone changes, midnight, and the night an instant belongs to. Pure.

Local times that a change of the clocks skips or repeats are read so that production keeps its promise: a start that is
skipped is the first moment after the gap, and an end that is skipped or comes twice is the earlier moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stager.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(7))
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Night:
    """One occurrence of a window: the local day it starts on, and its bounds as instants (UTC)."""

    day: date
    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        """How long it really is; nights with a change of the clocks differ."""
        return self.end - self.start

    def holds(self, instant: datetime) -> bool:
        """Whether an instant lies in it; the end does not."""
        return self.start <= instant < self.end


@dataclass(frozen=True, slots=True)
class Window:
    """From ``at`` to ``until``, local to ``zone``, on the ``days`` (Monday 0) it starts on; may cross midnight."""

    at: time
    until: time
    zone: ZoneInfo
    days: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if self.at == self.until:
            raise UsageError("A window needs an end that differs from its start.")
        if not self.days:
            raise UsageError("A window needs at least one day.")

    def night(self, day: date) -> Night:
        """Return the night that starts on a local day, whether or not the window is on that day."""
        ends = day if self.until > self.at else day + _DAY
        return Night(day, instant(day, self.at, self.zone), instant(ends, self.until, self.zone))

    def nights(self, first: date) -> Iterator[Night]:
        """Yield the window's nights from a local day on; a night that the clocks swallow whole is left out."""
        day = first
        while True:
            if day.weekday() in self.days:
                night = self.night(day)
                if night.length > timedelta(0):
                    yield night
            day += _DAY

    def tonight(self, now: datetime) -> Night | None:
        """Return the night that ``now`` lies in, or None."""
        today = now.astimezone(self.zone).date()
        for day in (today - _DAY, today):
            night = self.night(day)
            if day.weekday() in self.days and night.holds(now):
                return night
        return None

    def next(self, now: datetime) -> Night:
        """Return the first night that starts after ``now``."""
        return next(night for night in self.nights(now.astimezone(self.zone).date() - _DAY) if night.start > now)


def instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the moment (UTC) a local time stands for: the first of two, or the end of the gap that skips it."""
    first, second = (datetime.combine(day, at, tzinfo=zone).replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    # In a gap the two readings are the wrong way round, with the change between them.
    return _change(second, first, zone) if second < first else first


def skipped(day: date, at: time, zone: ZoneInfo) -> bool:
    """Whether the clocks skip this local time on this day."""
    return instant(day, at, zone).astimezone(zone).time() != at


def _change(early: datetime, late: datetime, zone: ZoneInfo) -> datetime:
    """Return the first whole second in between with the offset of ``late``."""
    offset = late.astimezone(zone).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            late = middle
        else:
            early = middle
    return late


def next_time(text: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the next moment (UTC) after ``now`` that a local time such as ``06:00`` stands for (`run --until`)."""
    at = parse_time(text)
    today = now.astimezone(zone).date()
    moments = (instant(today + days * _DAY, at, zone) for days in range(-1, 3))
    return next(moment for moment in moments if moment > now)


def parse_time(text: str) -> time:
    """Read ``01:30``.

    Raises:
        UsageError: it is no time of day.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is no time of day; expected one such as 01:30.")
    return time(int(match[1]), int(match[2]))


def parse_days(text: str) -> frozenset[int]:
    """Read ``mon-fri``, ``sat,sun``, ``fri-mon`` or ``daily``.

    Raises:
        UsageError: a word in it is no day.
    """
    if text.strip().lower() == "daily":
        return EVERY_DAY
    days: set[int] = set()
    for part in text.lower().split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        start = _day(first)
        days |= {(start + step) % 7 for step in range((_day(last) - start) % 7 + 1)} if dash else {start}
    return frozenset(days)


def _day(word: str) -> int:
    if word[:3] not in DAYS:
        raise UsageError(f"{word!r} is no day; expected some of {', '.join(DAYS)}, a range such as mon-fri, or daily.")
    return DAYS.index(word[:3])


def format_days(days: Iterable[int]) -> str:
    """Return the days as they are written: ``daily``, or the list."""
    ordered = sorted(days)
    return "daily" if len(ordered) == len(DAYS) else ",".join(DAYS[day] for day in ordered)


def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        UsageError: there is no such zone, or no zone data on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"Unknown time zone {name!r}; expected a name such as Europe/Berlin (known ones come with tzdata)."
        ) from None
