"""Nights of a fleet under a controlled clock: asked as the engine asks, answered by the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from stager.fleet.morning_fleet import NOT_ASKED, nights_without_jobs
from stager.fleet.nights import FleetNight, begin_night, cron_of
from stager.fleet.queue import Queue
from tests.unit.fleet.cases import schedule, utc

BERLIN = ZoneInfo("Europe/Berlin")


class Still:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.at = utc("2026-01-01 00:00")

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def night(path: Path, **changes: str) -> FleetNight:
    """A night of one playbook in the window of the other tests."""
    common = {"name": "batch4", "playbook": str(path), "worst": 780.0, **changes}
    return FleetNight(schedule=schedule(**common), paths=(str(path),))


def ticks(asked: FleetNight, first: datetime, days: int) -> Iterator[datetime]:
    """When the engine asks, by the engine's own reading of the cron expression."""
    times = croniter(cron_of(asked.schedule.window()), first.astimezone(BERLIN), second_at_beginning=True)
    while (tick := times.get_next(datetime)) < first + timedelta(days=days):
        yield tick.astimezone(UTC)


def simulate(
    queue: Queue, asked: FleetNight, first: datetime, days: int, off: Callable[[datetime], bool] = lambda _: False
) -> dict[str, datetime]:
    """Ask through so many days; returns each night that began, and when."""
    clock, began = Still(), {}
    for tick in ticks(asked, first, days):
        if off(tick):
            continue
        clock.at = tick
        said = begin_night(asked.document(), queue, clock)
        if said["starts"]:
            began[said["night"]] = tick
    return began


@pytest.mark.parametrize("first", ["2026-03-22 12:00", "2026-10-18 12:00"])
def test_a_fortnight_over_a_change_of_the_clocks(queue: Queue, playbook: Callable[..., Path], first: str) -> None:
    """Every night begins once, when its window opens, whatever the clocks do."""
    asked = night(playbook())
    began = simulate(queue, asked, utc(first), 14)

    assert len(began) == 14
    assert len(queue.rows()) == 14
    assert {f"{tick.astimezone(BERLIN):%H:%M}" for tick in began.values()} == {"01:30"}
    assert all(row.job.until and f"{row.job.until.astimezone(BERLIN):%H:%M}" == "06:00" for row in queue.rows())


def test_a_start_that_the_clocks_skip(queue: Queue, playbook: Callable[..., Path]) -> None:
    """On the night whose 02:30 does not exist the jobs are queued right after the gap."""
    began = simulate(queue, night(playbook(), at="02:30"), utc("2026-03-28 12:00"), 1)

    assert began == {"2026-03-29": utc("2026-03-29 01:00")}


def test_a_missed_start_is_made_up_for(queue: Queue, playbook: Callable[..., Path]) -> None:
    """No worker until three: the jobs are queued then, since they still fit."""
    asked = night(playbook())
    began = simulate(queue, asked, utc("2026-11-29 12:00"), 1, off=lambda tick: tick < utc("2026-11-30 02:05"))

    assert began == {"2026-11-30": utc("2026-11-30 02:10")}


def test_a_night_that_is_too_short_is_refused(queue: Queue, playbook: Callable[..., Path]) -> None:
    """A run whose worst case does not fit is refused before anything is queued, with the numbers."""
    asked = night(playbook(), at="05:50")
    clock = Still()
    clock.at = utc("2026-11-30 04:50")
    said = begin_night(asked.document(), queue, clock)

    assert said["starts"] is False
    assert "worst case" in said["reason"]
    assert queue.rows() == []


def test_a_playbook_that_is_gone_is_the_mornings_news(queue: Queue, playbook: Callable[..., Path]) -> None:
    """What cannot be loaded at night is an answer, not a fault of the worker."""
    path = playbook()
    asked = night(path)
    path.unlink()
    clock = Still()
    clock.at = utc("2026-11-30 01:30")

    assert "no such file" in begin_night(asked.document(), queue, clock)["reason"]


def test_the_morning_knows_nights_that_nobody_asked_for(queue: Queue, playbook: Callable[..., Path]) -> None:
    """Without a worker a night passes by; the morning says so."""
    asked = night(playbook())
    queue.calendar.add("batch4", cron_of(asked.schedule.window()), "Europe/Berlin", asked.document())

    idle = nights_without_jobs(queue, utc("2026-11-28 12:00"), utc("2026-11-29 12:00"))

    assert [(one.schedule, str(one.night), one.reason) for one in idle] == [("batch4", "2026-11-29", NOT_ASKED)]
