"""What dead workers left undone in the queue, and how this version begins what another one had in hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stager.fleet.database import Database, answering
from stager.fleet.rows import JOB, LASTING, QUEUE, ROLLOUT, ROLLOUTS, TAKEN_OVER, VERSION, is_stray

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus


class Strays:
    """The strays in one database.

    Raises:
        DatabaseGone: from every method.
    """

    def __init__(self, database: Database, client: DBOSClient) -> None:
        self._database = database
        self._client = client

    def left_by(self, processes: Sequence[str]) -> list[WorkflowStatus]:
        """Return the workflows that these processes had begun and not ended, of any version."""
        if not processes:
            return []
        with answering(self._database):
            found = self._client.list_workflows(
                status=["PENDING", "ENQUEUED", "CANCELLED"],
                executor_id=list(processes),
                load_input=False,
                load_output=False,
            )
        return [one for one in found if is_stray(one)]

    def put_back(self, living: Sequence[str]) -> list[WorkflowStatus]:
        """Return what waits for an older version and is of none of these processes, whether in the roster or not.

        Recovery puts a dead worker's rows back under its name, and the worker is struck off; whoever put them back may
        be upgraded before it had a place for them. Only the newest version looks, or two would take turns at a row.
        """
        with answering(self._database):
            newest, *older = [one["version_name"] for one in self._client.list_application_versions()] or [""]
            if newest != VERSION or not older:
                return []
            found = self._client.list_workflows(
                status=["ENQUEUED", "CANCELLED"], app_version=older, load_input=False, load_output=False
            )
        return [one for one in found if is_stray(one) and one.executor_id not in living]

    def begin_anew(self, one: WorkflowStatus) -> None:
        """Give a stray that another version had begun to this one: it begins from nothing, under the same name.

        It is cancelled on the way; the word beside it says that this is not its end, should we not live to the next
        line. A run is not begun anew: its job has another. So a job's runs are cancelled with it: one that only waits
        for a place has neither version nor process, and would be carried out beside the new one.
        """
        with answering(self._database):
            (now,) = self._client.list_workflows(workflow_ids=[one.workflow_id], load_input=False, load_output=False)
            if now.app_version == VERSION or now.executor_id != one.executor_id or not is_stray(now):
                return  # another worker was first
            self._client.update_workflow_attributes(one.workflow_id, {TAKEN_OVER: VERSION}, merge=True)
            self._client.cancel_workflow(one.workflow_id, cancel_children=one.name == JOB)
            if one.name in LASTING:
                self._client.rewind_workflow(
                    one.workflow_id,
                    application_version=VERSION,
                    queue_name={JOB: QUEUE, ROLLOUT: ROLLOUTS}.get(one.name),
                    queue_partition_key=(one.attributes or {})["host"] if one.name == JOB else None,
                )
