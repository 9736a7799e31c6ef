"""Windows as instants: midnight, days, and the two nights a year whose clocks change."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stager.errors import UsageError
from stager.fleet.window import Window, find_zone, format_days, instant, next_time, parse_days, parse_time, skipped
from tests.unit.fleet.cases import utc

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = date(2027, 3, 28)  # 02:00 becomes 03:00
AUTUMN = date(2026, 10, 25)  # 03:00 becomes 02:00


def window(at: str, until: str, days: str = "daily", zone: ZoneInfo = BERLIN) -> Window:
    return Window(parse_time(at), parse_time(until), zone, parse_days(days))


def test_an_ordinary_night() -> None:
    """A night runs from its start to its end, as instants."""
    night = window("01:30", "06:00").night(date(2026, 11, 30))

    assert (night.start, night.end) == (utc("2026-11-30 00:30"), utc("2026-11-30 05:00"))


def test_over_midnight() -> None:
    """A window that ends before it starts ends on the next day."""
    night = window("23:00", "05:00").night(date(2026, 11, 30))

    assert (night.start, night.end) == (utc("2026-11-30 22:00"), utc("2026-12-01 04:00"))


@pytest.mark.parametrize(
    ("day", "at", "until", "hours"),
    [
        (SPRING, "01:30", "06:00", 3.5),
        (AUTUMN, "01:30", "06:00", 5.5),
        (date(2027, 3, 27), "23:00", "05:00", 5),
        (SPRING, "02:30", "06:00", 3),  # starts at the end of the gap
        (SPRING, "01:00", "02:30", 1),  # ends at its beginning
        (AUTUMN, "01:30", "02:30", 1),  # ends at the first 02:30
        (AUTUMN, "02:30", "06:00", 4.5),  # starts at the first 02:30
        (SPRING, "02:10", "02:50", 0),
    ],
)
def test_nights_when_the_clocks_change(day: date, at: str, until: str, hours: float) -> None:
    """The night is as long as it really is; doubtful bounds favour production."""
    assert window(at, until).night(day).length == timedelta(hours=hours)


def test_a_night_the_clocks_swallow_is_left_out() -> None:
    """A window wholly inside the gap has no night on that day."""
    days = [night.day for night in islice(window("02:10", "02:50").nights(date(2027, 3, 27)), 2)]

    assert days == [date(2027, 3, 27), date(2027, 3, 29)]


def test_a_half_hour_change() -> None:
    """Lord Howe's clocks change by half an hour; the end of the gap is found there too."""
    howe = ZoneInfo("Australia/Lord_Howe")

    assert instant(date(2026, 10, 4), time(2, 15), howe).astimezone(howe).time() == time(2, 30)


def test_tonight() -> None:
    """An instant belongs to the night around it, also after midnight, and the end does not."""
    late = window("23:00", "05:00")

    assert late.tonight(utc("2026-12-01 03:59")).day == date(2026, 11, 30)  # type: ignore[union-attr]
    assert late.tonight(utc("2026-12-01 04:00")) is None
    assert late.tonight(utc("2026-11-30 21:59")) is None


def test_only_on_its_days() -> None:
    """A window of Fridays has no night that starts on another day, though it ends on one."""
    fridays = window("23:00", "05:00", "fri")

    assert fridays.tonight(utc("2026-12-05 02:00")).day == date(2026, 12, 4)  # type: ignore[union-attr]
    assert fridays.tonight(utc("2026-12-04 02:00")) is None
    assert fridays.next(utc("2026-12-05 02:00")).day == date(2026, 12, 11)


def test_until_is_the_next_one() -> None:
    """`--until 06:00` means the next six o'clock of that zone, today or tomorrow."""
    assert next_time("06:00", utc("2026-11-30 04:59"), BERLIN) == utc("2026-11-30 05:00")
    assert next_time("06:00", utc("2026-11-30 05:00"), BERLIN) == utc("2026-12-01 05:00")


@given(
    now=st.integers(0, 2 * 365 * 86400).map(lambda seconds: utc("2026-01-01 00:00") + timedelta(seconds=seconds)),
    at=st.times().map(lambda moment: moment.replace(second=0, microsecond=0)),
    until=st.times().map(lambda moment: moment.replace(second=0, microsecond=0)),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
)
def test_every_instant_is_in_tonight_or_before_the_next(now: datetime, at: time, until: time, zone: str) -> None:
    """The next night is later than now; tonight, where there is one, holds now and lasts at most 25 hours."""
    if at == until:
        until = at.replace(minute=(at.minute + 1) % 60)
    made = Window(at, until, ZoneInfo(zone))
    tonight = made.tonight(now)

    assert made.next(now).start > now
    assert tonight is None or (tonight.holds(now) and tonight.length <= timedelta(hours=25))


@given(
    day=st.dates(date(2026, 1, 1), date(2028, 1, 1)),
    at=st.times().map(lambda moment: moment.replace(microsecond=0)),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_an_instant_reads_as_its_local_time_unless_skipped(day: date, at: time, zone: str) -> None:
    """Turned back into local time an instant is what was asked for, or the moment after the gap."""
    local = instant(day, at, ZoneInfo(zone)).astimezone(ZoneInfo(zone))

    assert local.date() == day
    assert local.time() >= at
    assert skipped(day, at, ZoneInfo(zone)) == (local.time() != at)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("sat,sun", {5, 6}),
        ("fri-mon", {4, 5, 6, 0}),
        ("daily", set(range(7))),
        ("Tuesday, thu - thu", {1, 3}),
    ],
)
def test_days(text: str, days: set[int]) -> None:
    """Days are a list, ranges (also over the weekend), or daily."""
    assert parse_days(text) == days


def test_days_are_written_back() -> None:
    """What is written reads back as the same days."""
    assert format_days(parse_days("fri-mon")) == "mon,fri,sat,sun"
    assert format_days(parse_days("mon-sun")) == "daily"


@pytest.mark.parametrize("text", ["24:00", "6", "06:60", "6am"])
def test_no_time_of_day(text: str) -> None:
    """What is no time of day is refused with an example."""
    with pytest.raises(UsageError, match=r"such as 01:30"):
        parse_time(text)


@pytest.mark.parametrize(
    "make", [lambda: parse_days("someday"), lambda: find_zone("Europe/Nowhere"), lambda: window("01:00", "01:00")]
)
def test_what_makes_no_window(make) -> None:
    """Unknown days and zones, and a window without length, are refused."""
    with pytest.raises(UsageError):
        make()
