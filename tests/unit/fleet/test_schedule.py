"""What speaks against a schedule: nights too short, two schedules on one host."""

from __future__ import annotations

from datetime import date

from stager.fleet.schedule import next_start, objections
from tests.unit.fleet.cases import schedule, utc

TODAY = date(2026, 11, 29)


def test_a_good_schedule_has_no_objections() -> None:
    """A run that fits every night of the year is accepted without a word."""
    found = objections(schedule(), [], TODAY)

    assert (found.refused, found.warned) == ((), ())


def test_a_run_too_long_for_every_night_is_refused() -> None:
    """A worst case longer than the window is refused, with both."""
    found = objections(schedule(worst=5 * 3600.0), [], TODAY)

    assert "The nights are too short: 01:30 to 06:00" in found.refused[0]
    assert "5h" in found.refused[0]


def test_jitter_counts() -> None:
    """A start as late as jitter allows must fit as well."""
    assert objections(schedule(worst=4 * 3600.0, jitter=3600.0), [], TODAY).refused


def test_a_night_made_short_by_the_clocks_is_named() -> None:
    """The one night of the year that loses an hour is named, and the others are kept."""
    found = objections(schedule(worst=4 * 3600.0), [], TODAY)

    assert found.refused == ()
    assert found.warned == ("1 night(s) of the coming year are too short and will be left out: 2027-03-28 (3h30m).",)


def test_two_schedules_at_the_same_time_on_one_host() -> None:
    """A second schedule that would meet the first on its host is refused with the first night they meet."""
    found = objections(schedule(at="02:00", name="other"), [schedule()], TODAY)

    assert "uses gpu1 at the same time on 366 night(s) of the coming year, first on 2026-11-29" in found.refused[0]


def test_two_schedules_one_after_the_other() -> None:
    """Windows that overlap are no clash as long as the worst cases do not meet."""
    found = objections(schedule(at="04:00", name="other"), [schedule()], TODAY)

    assert (found.refused, found.warned) == ((), ())


def test_two_schedules_that_meet_only_when_the_clocks_change() -> None:
    """The one night on which an hour is missing between two schedules is named, and forbids nothing."""
    found = objections(schedule(at="03:00", name="other"), [schedule()], TODAY)

    assert found.refused == ()
    assert "on 1 night(s) of the coming year, first on 2027-03-28" in found.warned[0]


def test_two_schedules_on_two_hosts() -> None:
    """Another host's schedule is nobody's business here."""
    assert not objections(schedule(name="other", host="gpu2"), [schedule()], TODAY).refused


def test_schedules_in_two_zones_may_meet_in_some_weeks_only() -> None:
    """Zones whose clocks change on different days meet in the weeks between, and that is seen."""
    new_york = schedule(name="other", at="21:10", until="23:50", timezone="America/New_York")
    berlin = schedule(at="01:50", until="06:00")
    found = objections(new_york, [berlin], TODAY)

    assert "first on 2027-03-14" in found.refused[0]


def test_days_that_never_meet() -> None:
    """Weekdays and weekends share a host and an hour without meeting."""
    assert not objections(schedule(days="sat,sun", name="other"), [schedule(days="mon-fri")], TODAY).refused


def test_the_next_start_is_said_in_the_windows_zone() -> None:
    """The next night is shown as the operator wrote it."""
    assert next_start(schedule(), utc("2026-11-29 22:00")) == "2026-11-30 01:30 CET"
