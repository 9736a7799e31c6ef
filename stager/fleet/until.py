"""``stager run --until``: refuse a run whose worst case would not end in time; cap the guard of one that starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from stager.errors import Refused
from stager.fleet.admission import Times, admit, times_of
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


def bounded(loaded: LoadedPlaybook, end: datetime, now: datetime) -> LoadedPlaybook:
    """Return the playbook with a guard whose hard end leaves time to have production back before ``end``.

    The deadline counts from when the run is opened on the host, so this is asked right before.

    Raises:
        Refused: the worst case does not end before; nothing was stopped.
        InvalidFile: what `run_times` raises.
    """
    admission = admit(now, end, run_times(loaded.playbook))
    if not admission.starts:
        raise Refused([admission.reason])
    guard = loaded.playbook.guard
    deadline = min(guard.deadline, (admission.cap - now).total_seconds())
    playbook = loaded.playbook.model_copy(update={"guard": guard.model_copy(update={"deadline": deadline})})
    return replace(loaded, playbook=playbook)
