"""May a run start now, and when must the guard end it at the latest? Pure; the promise is made to production.

A run starts only if its worst case ends before ``until``: drain, then the candidate's life (ready and the probes' own
limits, at most its runtime), then its stop, the device memory's return and production's health. The hard cap leaves
room for what follows it, so that even a run that hangs has production back before ``until``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from stager.models.playbook import Playbook
from stager.models.quantities import format_duration
from stager.onhost.undo import MEMORY_PATIENCE

#: Device memory may take this long to come back after the candidate's end: the host's own bounded wait (seconds).
MEMORY_BACK = MEMORY_PATIENCE
#: For the host's own steps, on the way down and again on the way up, which no setting bounds (seconds). On the way up:
#: the guard's look (1 s), what a KILL may take (5 s) and systemd's word that the candidate's unit is gone (10 s), then
#: markers and watchdogs. A stop on the way down that takes longer costs the candidate's time, not production's: the
#: cap stays where it is.
STEPS = 30.0


@dataclass(frozen=True, slots=True)
class Times:
    """The longest each part of a run may take, in seconds. ``probes`` is None where their limits are not known."""

    drain: float
    ready: float
    probes: float | None
    runtime: float
    grace: float
    healthy: float
    memory: float = MEMORY_BACK
    steps: float = STEPS

    @property
    def life(self) -> float:
        """How long the candidate may live: its runtime, or less where ready and the probes end sooner."""
        return self.runtime if self.probes is None else min(self.runtime, self.ready + self.probes)

    @property
    def after(self) -> float:
        """From the end of the candidate's time to healthy production."""
        return self.grace + self.memory + self.healthy + self.steps

    @property
    def worst(self) -> float:
        """The whole run."""
        return self.drain + self.steps + self.life + self.after


def times_of(playbook: Playbook, probes: float | None = None) -> Times:
    """Return a playbook's times; ``probes`` is the sum of its probes' own limits, where the caller knows it."""
    drain, healthy = playbook.production.drain, playbook.production.healthy
    candidate = playbook.candidate
    return Times(
        drain=drain.timeout if drain else 0.0,
        ready=candidate.ready.timeout,
        probes=probes,
        runtime=candidate.limits.runtime,
        grace=candidate.stop.grace,
        healthy=healthy.within if healthy else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer: ``cap`` is the latest moment for the guard to begin its restore, ``reason`` says why not to start."""

    starts: bool
    cap: datetime
    reason: str = ""


def admit(now: datetime, until: datetime, times: Times) -> Admission:
    """Decide on a start at ``now`` for a run that must have production back before ``until``."""
    cap = until - timedelta(seconds=times.after)
    left = (until - now).total_seconds()
    if times.worst <= left:
        return Admission(starts=True, cap=cap)
    parts = (
        f"drain {_text(times.drain)}, candidate {_text(times.life)}, back to healthy {_text(times.after)}, "
        f"the host's own steps {_text(times.steps)}"
    )
    reason = (
        f"{_text(max(0.0, left))} are left until {until.isoformat(timespec='minutes')}, "
        f"and the run's worst case is {_text(times.worst)} ({parts})."
    )
    return Admission(starts=False, cap=cap, reason=reason)


def _text(seconds: float) -> str:
    return format_duration(round(seconds))
