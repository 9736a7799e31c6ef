"""``stager run --until``: refuse a run whose worst case would not end in time; cap the guard of one that starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from stager.errors import Refused
from stager.fleet.admission import Times, admit, times_of
from stager.fleet.window import next_time
from stager.loading import LoadedPlaybook
from stager.models.playbook import Playbook
from stager.probes.base import STOP_GRACE
from stager.probes.catalog import PROBES
from stager.run.subject import wanted_probes


def run_times(playbook: Playbook) -> Times:
    """Return a playbook's times with its probes' own limits.

    Raises:
        InvalidFile: it names no probe, or one that does not exist.
    """
    limits = 0.0
    for name, parameters in wanted_probes(playbook).items():
        probe = PROBES[name]
        limits += probe.time_limit(probe.parameters.model_validate(parameters)) + STOP_GRACE
    return times_of(playbook, limits)


def bounded(loaded: LoadedPlaybook, until: str, now: datetime, zone: ZoneInfo) -> LoadedPlaybook:
    """Return the playbook with a guard whose hard end leaves time to have production back before ``until``.

    Args:
        loaded: the playbook as it was read.
        until: a time of day such as 06:00; the next one after ``now``.
        now: the present (UTC).
        zone: the time zone ``until`` is meant in.

    Raises:
        Refused: the worst case does not end before; nothing was stopped.
        InvalidFile: what `run_times` raises.
        UsageError: ``until`` is no time of day.
    """
    return bounded_by(loaded, next_time(until, now, zone), now)


def bounded_by(loaded: LoadedPlaybook, end: datetime, now: datetime) -> LoadedPlaybook:
    """Do the same for a moment instead of a time of day.

    Raises:
        Refused, InvalidFile: as above.
    """
    admission = admit(now, end, run_times(loaded.playbook))
    if not admission.starts:
        raise Refused([admission.reason])
    guard = loaded.playbook.guard
    deadline = min(guard.deadline, (admission.cap - now).total_seconds())
    playbook = loaded.playbook.model_copy(update={"guard": guard.model_copy(update={"deadline": deadline})})
    return replace(loaded, playbook=playbook)
