"""What a worker does with one job, apart from the engine that remembers how far it came."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from stager.clock import Clock
from stager.errors import ConnectionLost, Fenced, HostHeld
from stager.fleet.carry import Order
from stager.fleet.launches import Launches, WorkerStops, fault
from stager.fleet.settle import INTERRUPTED, Settling, settle
from stager.models.fleet import Job, Launch, Told
from stager.staging.runid import new_run_id

#: Pauses before a held host is asked again, each longer than the one before (seconds).
HELD_PAUSES = (5.0, 10.0, 20.0, 30.0)
#: After these the host must be asked how the run ended: its own word was not heard.
UNHEARD = tuple(error("").kind for error in (ConnectionLost, Fenced))
HELD = HostHeld("").kind


@dataclass(frozen=True, slots=True)
class Work:
    """One worker process's means: its name, its runs, and how it settles those of processes that are gone."""

    process: str
    home: Path
    clock: Clock
    launches: Launches
    settling: Settling

    def name(self) -> Launch:
        """Name a run that is about to be opened; this is written down before it is."""
        now = self.clock.now()
        return Launch(run_id=new_run_id(now), process=self.process, at=now)

    def carry(self, job: Job, launch: Launch, *, cancelled: bool = False) -> Told:
        """Carry a job out, or settle it where the process that named its run is not this one. Never raises.

        Where the worker stops first this does not return.
        """
        mine = launch.process == self.process
        try:
            if mine and cancelled:
                told = Told(ending="cancelled", exit_code=INTERRUPTED, message="cancelled before it began")
            else:
                told = self._carry(job, launch) if mine else self._settle(job, launch)
        except WorkerStops:
            park()
        except Exception as error:  # noqa: BLE001 - the queue must hear of every end
            told = fault(error, launch.run_id)
        if (cancelled or self.launches.asked_to_end(job.job_id)) and told.exit_code != 0:
            told = told.model_copy(update={"ending": "cancelled"})
        return told.model_copy(update={"worker": self.process, "ended": told.ended or self.clock.now()})

    def _carry(self, job: Job, launch: Launch) -> Told:
        told = self.launches.carry(Order(job=job, run_id=launch.run_id))
        if told is None or told.kind in UNHEARD:
            return self._settle(job, launch)
        if told.exit_code == HostHeld.exit_code and told.kind == HELD:
            return told.model_copy(update={"ending": "held"})
        return told

    def _settle(self, job: Job, launch: Launch) -> Told:
        return settle(job, launch.run_id, self.settling)


def park() -> NoReturn:
    """Stay as we are until the process ends: what the engine has not heard of is taken over by the next worker."""
    while True:
        threading.Event().wait()


def pause_before_next(job: Job, tries: list[tuple[Launch, Told]]) -> float | None:
    """Return how long to wait before a job's next run (seconds); None where the job has ended. Pure.

    A held host is waited for as long as the job allows. A run that never began is simply begun. A run that was cut
    short is tried again where the job may take more than one, its host is as before, and nobody cancelled it.
    """
    told = tries[-1][1]
    if told.ending == "never begun":
        return 0.0
    if told.ending == "held":
        held = _trailing_held(tries)
        waited = (_ended(told, held[0].at) - held[0].at).total_seconds()
        pause = HELD_PAUSES[min(len(held), len(HELD_PAUSES)) - 1]
        return pause if waited + pause <= job.held_for else None
    cut_short = [one for _, one in tries if one.ending == "interrupted"]
    if told.ending == "interrupted" and told.exit_code not in (8, 9) and len(cut_short) < job.attempts:
        return 0.0
    return None


def _trailing_held(tries: list[tuple[Launch, Told]]) -> list[Launch]:
    found: list[Launch] = []
    for launch, told in reversed(tries):
        if told.ending != "held":
            break
        found.insert(0, launch)
    return found


def _ended(told: Told, otherwise: datetime) -> datetime:
    return told.ended or otherwise
