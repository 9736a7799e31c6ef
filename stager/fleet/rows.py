"""What lies in the queue's database: the names we go by there, how a job is queued, and how its row reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stager.models.fleet import Job, Rollout, Told

if TYPE_CHECKING:
    from dbos import EnqueueOptions, WorkflowStatus

#: Names in the database. They are kept by hand: a queue that was filled by an older stager is read by a newer one.
QUEUE, ROLLOUTS = "stager-jobs", "stager-rollouts"
JOB, ROLLOUT, NIGHT = "stager_job", "stager_rollout", "stager_night"
APPLICATION = "stager"
#: The shape of the workflows. It is raised only when they change so that one begun by an older stager cannot go on.
VERSION = "stager-fleet-1"

Document = dict[str, Any]
OPEN = ("ENQUEUED", "PENDING", "DELAYED")
_STATES = {"ENQUEUED": "queued", "DELAYED": "queued", "PENDING": "running", "CANCELLED": "cancelled"}


@dataclass(frozen=True, slots=True)
class Row:
    """One job as the queue knows it. ``told`` is there once it has ended."""

    job: Job
    state: str
    worker: str
    run_id: str
    cancelled_by: str
    told: Told | None

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
            "message": told.message if told else "",
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
    state = told.ending if told else _STATES.get(status.status, "failed")
    return Row(
        job=job,
        state=state,
        worker=status.executor_id or "",
        run_id=told.run_id if told else str(attributes.get("run_id", "")),
        cancelled_by=str(attributes.get("cancelled_by", "")),
        told=told,
    )
