"""Tonight's decision: may this schedule's run start now? Pure; claiming the night is the caller's part."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import date, datetime

from stager.fleet.admission import Times, admit
from stager.fleet.schedule import Schedule
from stager.fleet.window import Night


@dataclass(frozen=True, slots=True)
class Due:
    """The answer. ``night`` is None outside every window; ``quiet`` marks reasons that are no news."""

    starts: bool
    night: Night | None
    reason: str = ""
    quiet: bool = False


def decide(schedule: Schedule, now: datetime, times: Times, started: Container[date]) -> Due:
    """Decide on a start at ``now``; ``started`` holds the local days whose night already had its run.

    A start that was missed is made up for while the night lasts, if the worst case still ends in it.
    """
    window = schedule.window()
    night = window.tonight(now)
    if night is None:
        start = window.next(now).start.astimezone(window.zone)
        reason = f"Outside the window; the next night starts {start:%a %Y-%m-%d %H:%M %Z}."
        return Due(starts=False, night=None, reason=reason, quiet=True)
    if night.day in started:
        return Due(starts=False, night=night, reason=f"The night of {night.day} already had its run.", quiet=True)
    if schedule.paused:
        return Due(starts=False, night=night, reason=f"Paused; `stager schedule resume {schedule.name}` ends that.")
    admission = admit(now, night.end, times)
    return Due(starts=admission.starts, night=night, reason=admission.reason)
