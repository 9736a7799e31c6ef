"""A fleet's part of the morning's answer: runs that other controllers carried out, jobs and nights without a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime

from stager.errors import Refused, StagerError
from stager.fleet.morning import Idle, idle_nights
from stager.fleet.nights import batch_of, read_night
from stager.fleet.queue import Queue
from stager.fleet.rows import Row
from stager.models.record import RunRecord

#: Why a night of a fleet had no jobs where nothing says more.
NOT_ASKED = "no worker asked for it: none served the queue then"


def runs_of(rows: Iterable[Row], known: Iterable[str]) -> list[RunRecord]:
    """Return the records of jobs' runs that this machine does not have itself."""
    have = set(known)
    found = {row.told.run_id: row.told.record for row in rows if row.told and row.told.record}
    return [RunRecord.model_validate_json(json.dumps(record)) for run, record in found.items() if run not in have]


def jobs_without_run(rows: Iterable[Row]) -> list[Idle]:
    """Return the jobs that ended without a run of their own, or that nobody has carried out yet, and why.

    Those that somebody cancelled are no news.
    """
    idle = []
    for row in rows:
        told = row.told
        if row.state == "cancelled" or (told and told.record):
            continue
        reason = (told.message or told.ending) if told else f"still {row.state}"
        fault = StagerError.exit_code if row.state == "failed" else Refused.exit_code
        code = told.exit_code if told and told.exit_code else fault
        idle.append(
            Idle(row.job.name, row.job.host, row.job.submitted.date(), f"{reason} (job {row.job.job_id})", code)
        )
    return idle


def nights_without_jobs(queue: Queue, since: datetime, until: datetime) -> list[Idle]:
    """Return the nights that opened since then and whose jobs were never queued, and why.

    Raises:
        DatabaseGone: no answer.
    """
    idle: list[Idle] = []
    for night in (read_night(context) for context in queue.calendar.all()):
        schedule = night.schedule
        answers = {
            date.fromisoformat(said["night"]): said
            for said in queue.calendar.asked(schedule.name, since)
            if said["night"]
        }
        begun = frozenset(day for day in answers if queue.known(batch_of(schedule.name, day)))
        refusals = {(schedule.name, day): str(said["reason"]) for day, said in answers.items()}
        found = idle_nights({schedule: begun}, refusals, since, until)
        idle += [one if one.night in answers else replace(one, reason=NOT_ASKED) for one in found]
    return idle
