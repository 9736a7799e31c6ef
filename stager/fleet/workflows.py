"""The workflows as the engine runs them. Their names, and the order of their steps, are kept by hand: see VERSION.

A job's workflow holds its host's lane, and each of its runs is a workflow of its own, which holds one of the workers'
places: a job that waits for a held host has no run and takes no place. A run is two steps: name it, carry it out. The
name is in the database before the run is opened on the host, so whoever takes the job over can ask the host about that
run. Restore is no step: the host does it. Every workflow may be begun anew from nothing (see `Strays`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from stager.clock import Clock
from stager.fleet.database import Database, DatabaseGone
from stager.fleet.queue import Queue
from stager.fleet.roster import BEAT_EVERY
from stager.fleet.rows import APPLICATION, JOB, NIGHT, ROLLOUT, RUN, VERSION, options, run_options
from stager.fleet.settle import INTERRUPTED, started
from stager.fleet.waves import stopped
from stager.fleet.work import Work, pause_before_next
from stager.models.base import Model
from stager.models.fleet import Job, Launch, Rollout, Told

if TYPE_CHECKING:
    from dbos import WorkflowHandle

Document = dict[str, Any]
#: In the place of a worker's process where it is not known: never our own.
SOMEBODY = "somebody before"
M = TypeVar("M", bound=Model)
T = TypeVar("T")


def configure(database: Database, process: str) -> None:
    """Make the engine of this process, with every name it goes by given by us."""
    from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer

    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": database.url,
        "executor_id": process,
        "application_version": VERSION,
        "log_level": "ERROR",
        "serializer": DBOSPortableJSONSerializer(),
        "scheduler_polling_interval_sec": 5.0,
    }
    DBOS(config=config)


def define(work: Work, queue: Queue, nights: Callable[[Document], Document]) -> None:
    """Tell the engine the workflows of this process."""
    from dbos import DBOS, error

    @DBOS.step(name="name a run")
    def name(job_id: str, known: list[str]) -> Document:
        launch, before = work.name(), patiently(lambda: queue.run_of(job_id), work.clock)
        if before and before not in known:  # somebody was about to open it, and did not live or was upgraded since
            launch = Launch(run_id=before, process=SOMEBODY, at=started(before, launch.at))
        words = {"run_id": launch.run_id, "worker": work.process, "waits": ""}
        patiently(lambda: queue.note(job_id, words), work.clock)
        return launch.document()

    @DBOS.step(name="say why it waits")
    def say_why(job_id: str, why: str) -> None:
        patiently(lambda: queue.note(job_id, {"waits": why}), work.clock)

    @DBOS.step(name="carry it out")
    def carry(document: Document, launched: Document) -> Document:
        job, launch = read(Job, document), read(Launch, launched)
        owner = patiently(lambda: queue.owner(str(DBOS.workflow_id)), work.clock)
        if owner != work.process:  # while we could not ask, another took the run over; our answer will not be taken
            return Told(ending="never begun", exit_code=INTERRUPTED, message=f"taken over by {owner}").document()
        cancelled = patiently(lambda: queue.cancelled([job.job_id]), work.clock)
        return work.carry(job, launch, cancelled=bool(cancelled)).document()

    @DBOS.workflow(name=RUN, max_recovery_attempts=None)
    def run_workflow(document: Document, known: list[str]) -> Document:
        launched = name(str(document["job_id"]), known)
        return {"launch": launched, "told": carry(document, launched)}

    @DBOS.workflow(name=JOB, max_recovery_attempts=None)
    def job_workflow(document: Document) -> Document:
        job = read(Job, document)
        tries: list[tuple[Launch, Told]] = []
        for number in itertools.count():
            known = [launch.run_id for launch, _ in tries]
            handle = DBOS.enqueue_workflow_with_options(run_options(job, number), document, known)
            try:
                done = handle.get_result()
            except error.DBOSAwaitedWorkflowCancelledError:
                continue  # begun by this version before another one had the job; what it named is settled by the next
            tries.append((read(Launch, done["launch"]), read(Told, done["told"])))
            pause = pause_before_next(job, tries)
            if pause is None:
                break
            if pause:
                say_why(job.job_id, tries[-1][1].message)
                DBOS.sleep(pause)
        return tries[-1][1].document()

    @DBOS.step(name="ask whether it was cancelled")
    def cancelled(job_id: str) -> bool:
        return not patiently(lambda: queue.taken_over(job_id), work.clock)

    def end_of(handle: WorkflowHandle[Any]) -> Told:
        while True:
            try:
                return read(Told, handle.get_result())
            except error.DBOSAwaitedWorkflowCancelledError:
                if cancelled(handle.workflow_id):
                    return Told(ending="cancelled", exit_code=143)
                DBOS.sleep(BEAT_EVERY)  # it was cancelled on the way to another version, which begins it anew

    @DBOS.workflow(name=ROLLOUT, max_recovery_attempts=None)
    def rollout_workflow(document: Document) -> Document:
        rollout = read(Rollout, document)
        ended: list[Told] = []
        for number, wave in enumerate(rollout.waves):
            if why := stopped(ended, rollout.stop_after):
                left = [job.job_id for later in rollout.waves[number:] for job in later]
                return {"stopped": why, "withheld": left}
            handles = [DBOS.enqueue_workflow_with_options(options(job), job.document()) for job in wave]
            ended.extend(end_of(handle) for handle in handles)
        return {"stopped": stopped(ended, rollout.stop_after), "withheld": []}

    @DBOS.step(name="begin the night")
    def ask_for_night(context: Document) -> Document:
        return patiently(lambda: nights(context), work.clock)

    @DBOS.workflow(name=NIGHT, max_recovery_attempts=None)
    def night_workflow(_scheduled: str, context: Document) -> Document:
        return ask_for_night(context)


def patiently(ask: Callable[[], T], clock: Clock) -> T:
    """Ask the database until it answers: while it is gone nothing new starts."""
    while True:
        try:
            return ask()
        except DatabaseGone:
            clock.sleep(BEAT_EVERY)


def read(model: type[M], document: Document) -> M:
    """Return a model from the engine's JSON."""
    return model.model_validate_json(json_of(document))


def json_of(document: Document) -> str:
    """Return JSON text, which strict models read in full (tuples, times)."""
    return json.dumps(document)
