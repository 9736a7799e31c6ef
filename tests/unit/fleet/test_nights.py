"""Nights under a controlled clock: around changes of the clocks, missed starts, long runs, runs that hang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from stager.fleet.admission import Times, admit
from stager.fleet.cron import fire_times
from stager.fleet.due import decide
from stager.fleet.schedule import Schedule
from tests.unit.fleet.cases import TIMES, schedule, utc

BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN, SPRING = utc("2026-10-18 12:00"), utc("2027-03-21 12:00")
MINUTE = timedelta(minutes=1)


@dataclass
class Machine:
    """A machine with cron, its clock going by the minute; a run takes ``takes`` and is cut at the guard's cap."""

    schedule: Schedule
    times: Times
    takes: timedelta
    zone: ZoneInfo = BERLIN
    off: list[tuple[datetime, datetime]] = field(default_factory=list)
    started: set[date] = field(default_factory=set)
    runs: list[tuple[datetime, datetime]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def live(self, first: datetime, days: int) -> None:
        """Let the time pass."""
        fires = fire_times(self.schedule.window(), self.zone, first.date())
        was_off = False
        for now in _minutes(first, days):
            if any(begin <= now < end for begin, end in self.off):
                was_off = True
                continue
            local = now.astimezone(self.zone)
            if was_off or any((local.hour, local.minute) == fire[:2] for fire in fires):
                self.ask(now)
            was_off = False

    def ask(self, now: datetime) -> None:
        """What the timer does: ask, claim, run; production is back at the latest the way back's time after the cap."""
        answer = decide(self.schedule, now, self.times, self.started)
        if not answer.starts or answer.night is None:
            if not answer.quiet:
                self.refused.append(answer.reason)
            return
        self.started.add(answer.night.day)
        cap = admit(now, answer.night.end, self.times).cap
        back = min(now + self.takes, cap) + timedelta(seconds=self.times.after)
        assert back <= answer.night.end, "production must be back before until"
        self.runs.append((now, back))


def _minutes(first: datetime, days: int) -> Iterator[datetime]:
    for minute in range(days * 24 * 60):
        yield first + minute * MINUTE


@pytest.mark.parametrize("first", [AUTUMN, SPRING])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "America/New_York"])
@pytest.mark.parametrize("at", ["01:30", "02:30"])
def test_fourteen_nights(first: datetime, zone: str, at: str) -> None:
    """Fourteen nights around a change of the clocks have one run each, at their start, wherever cron runs."""
    machine = Machine(schedule(at=at), TIMES, timedelta(hours=1), ZoneInfo(zone))
    machine.live(first, 14)

    expected = [machine.schedule.window().night(first.date() + timedelta(days=day + 1)).start for day in range(14)]
    assert [start for start, _ in machine.runs] == expected
    assert machine.refused == []


@pytest.mark.parametrize("first", [AUTUMN, SPRING])
def test_a_run_that_hangs_is_cut(first: datetime) -> None:
    """A run that never ends is cut at the cap, and production is back by six, also when an hour is missing."""
    machine = Machine(schedule(), TIMES, timedelta(days=1))
    machine.live(first, 14)

    assert len(machine.runs) == 14
    assert {back.astimezone(BERLIN).strftime("%H:%M") for _, back in machine.runs} == {"06:00"}


def test_a_missed_start_is_made_up_for_while_it_fits() -> None:
    """The machine was off at the start; back at three the run starts late, and still ends in time."""
    off = (utc("2026-11-30 00:00"), utc("2026-11-30 02:00"))
    machine = Machine(schedule(), TIMES, timedelta(hours=1), off=[off])
    machine.live(utc("2026-11-29 12:00"), 1)

    assert [start for start, _ in machine.runs] == [off[1]]


def test_a_missed_start_that_no_longer_fits_is_left_out() -> None:
    """Back half an hour before the end, nothing starts, and the reason has the numbers."""
    off = (utc("2026-11-30 00:00"), utc("2026-11-30 04:30"))
    machine = Machine(schedule(), TIMES, timedelta(hours=1), off=[off])
    machine.live(utc("2026-11-29 12:00"), 1)

    assert machine.runs == []
    assert "30m are left" in machine.refused[0]


def test_a_missed_night_is_not_made_up_for_in_the_day() -> None:
    """Back at nine in the morning, the machine waits for the next night."""
    off = (utc("2026-11-30 00:00"), utc("2026-11-30 08:00"))
    machine = Machine(schedule(), TIMES, timedelta(hours=1), off=[off])
    machine.live(utc("2026-11-29 12:00"), 2)

    assert [start for start, _ in machine.runs] == [utc("2026-12-01 00:30")]


def test_a_restart_does_not_run_the_night_again() -> None:
    """A machine that restarts after its run does not run the same night twice."""
    off = (utc("2026-11-30 02:30"), utc("2026-11-30 02:35"))
    machine = Machine(schedule(), TIMES, timedelta(hours=1), off=[off])
    machine.live(utc("2026-11-29 12:00"), 1)

    assert len(machine.runs) == 1


def test_the_night_that_lost_an_hour_is_left_out_if_it_is_too_short() -> None:
    """A worst case of four hours is refused before anything stops on the one night that has three and a half."""
    machine = Machine(schedule(), replace(TIMES, probes=12_800.0), timedelta(hours=1))
    machine.live(SPRING, 14)

    assert len(machine.runs) == 13
    assert len(machine.refused) == 1
    assert "3h30m are left" in machine.refused[0]


def test_a_run_too_long_for_its_window_never_starts() -> None:
    """Night after night it is refused before anything stops."""
    machine = Machine(schedule(), replace(TIMES, probes=None, runtime=18_000.0), timedelta(hours=1))
    machine.live(AUTUMN, 6)

    assert machine.runs == []
    assert len(machine.refused) == 6


def test_paused() -> None:
    """A paused schedule starts nothing and says how to go on."""
    machine = Machine(schedule(paused=True), TIMES, timedelta(hours=1))
    machine.live(AUTUMN, 1)

    assert machine.runs == []
    assert "stager schedule resume batch4" in machine.refused[0]
