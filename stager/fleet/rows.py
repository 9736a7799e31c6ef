"""What lies in the queue's database: the names we go by there, how a job is queued, and how its row reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stager.models.fleet import Job, Rollout, Told

if TYPE_CHECKING:
    from dbos import EnqueueOptions, WorkflowStatus

#: Names in the database. They are kept by hand: a queue that was filled by an older stager is read by a newer one.
QUEUE, RUNS, ROLLOUTS = "stager-jobs", "stager-runs", "stager-rollouts"
JOB, RUN, ROLLOUT, NIGHT = "stager_job", "stager_run", "stager_rollout", "stager_night"
#: Those that another version begins anew; a run belongs to its job.
LASTING = (JOB, ROLLOUT, NIGHT)
APPLICATION = "stager"
#: The shape of the workflows. It is raised only when they change so that one begun by an older stager cannot go on.
VERSION = "stager-fleet-3"

#: Written beside a workflow that another version had begun, before it is begun anew.
TAKEN_OVER = "taken_over"

Document = dict[str, Any]
OPEN = ("ENQUEUED", "PENDING", "DELAYED")
_STATES = {"ENQUEUED": "queued", "DELAYED": "queued", "PENDING": "running", "CANCELLED": "cancelled"}


@dataclass(frozen=True, slots=True)
class Row:
    """One job as the queue knows it. ``waits`` says why its host is waited for; ``told`` is there once it has ended."""

    job: Job
    state: str
    worker: str
    run_id: str
    cancelled_by: str
    waits: str
    told: Told | None

    @property
    def says(self) -> str:
        """What a person should know of it."""
        return self.told.message if self.told else self.waits

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        told = self.told
        return {
            "job_id": self.job.job_id,
            "batch": self.job.batch,
            "wave": self.job.wave,
            "host": self.job.host,
            "playbook": self.job.name,
            "state": self.state,
            "worker": self.worker,
            "run_id": self.run_id,
            "submitted": self.job.submitted.isoformat(),
            "exit_code": told.exit_code if told else None,
            "ending": told.ending if told else None,
            "message": self.says,
            "host_state": told.host_state if told else "",
        }


def options(job: Job) -> EnqueueOptions:
    """Return how a job is queued: under its own name, in its host's lane, for whichever version is the newest."""
    return {
        "workflow_name": JOB,
        "queue_name": QUEUE,
        "workflow_id": job.job_id,
        "queue_partition_key": job.lane,
        "application_name": APPLICATION,
        "attributes": {"host": job.host, "name": job.name, "batch": job.batch},
    }


def run_options(job: Job, number: int) -> EnqueueOptions:
    """Return how one of a job's runs is queued; the version in its name tells it from those of other versions."""
    return {
        "workflow_name": RUN,
        "queue_name": RUNS,
        "workflow_id": f"{job.job_id}.{VERSION}.{number}",
        "application_name": APPLICATION,
    }


def waves_options(rollout: Rollout) -> EnqueueOptions:
    """Return how a rollout is queued: under its submission's name."""
    return {
        "workflow_name": ROLLOUT,
        "queue_name": ROLLOUTS,
        "workflow_id": rollout.batch,
        "application_name": APPLICATION,
    }


def row_of(status: WorkflowStatus) -> Row:
    """Return a job from the engine's row."""
    job = Job.model_validate_json(json.dumps((status.input or {"args": ({},)})["args"][0]))
    attributes = status.attributes or {}
    told = Told.model_validate_json(json.dumps(status.output)) if isinstance(status.output, dict) else None
    state = told.ending if told else _state(status, attributes)
    return Row(
        job=job,
        state=state,
        worker=told.worker if told else str(attributes.get("worker", "")),
        run_id=told.run_id if told else str(attributes.get("run_id", "")),
        cancelled_by=str(attributes.get("cancelled_by", "")),
        waits=str(attributes.get("waits", "")),
        told=told,
    )


def is_stray(status: WorkflowStatus) -> bool:
    """Whether a workflow of a dead process is left undone: begun, or put back for a version that serves no more."""
    put_back = status.status == "ENQUEUED" and status.app_version not in (None, VERSION)
    return status.status == "PENDING" or put_back or _between_versions(status)


def was_taken_over(status: WorkflowStatus) -> bool:
    """Whether a job that somebody saw as cancelled is not: a version, ours or another, begins it anew, or has."""
    by = (status.attributes or {}).get(TAKEN_OVER)
    return status.status != "CANCELLED" or (by is not None and status.app_version != by)


def _between_versions(status: WorkflowStatus) -> bool:
    """Whether a row reads as cancelled only because this version was about to begin it anew."""
    wanted = status.status == "CANCELLED" and (status.attributes or {}).get(TAKEN_OVER) == VERSION
    return wanted and status.app_version != VERSION and status.name in LASTING


def _state(status: WorkflowStatus, attributes: dict[str, Any]) -> str:
    no_run = status.status == "PENDING" and (attributes.get("waits") or not attributes.get("run_id"))
    if no_run or _between_versions(status):
        return "waiting"  # for its host, or for one of the workers' places
    return _STATES.get(status.status, "failed")
