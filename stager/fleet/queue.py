"""The queue from outside: submit, look, cancel, without launching the engine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stager.errors import UsageError
from stager.fleet.calendar import Calendar
from stager.fleet.database import Database, answering
from stager.fleet.roster import Entry, Roster
from stager.fleet.rows import (
    APPLICATION,
    JOB,
    OPEN,
    QUEUE,
    ROLLOUT,
    ROLLOUTS,
    RUNS,
    Document,
    Row,
    options,
    row_of,
    was_taken_over,
    waves_options,
)
from stager.fleet.strays import Strays
from stager.models.fleet import Rollout

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus

#: Jobs a worker looks after besides those whose runs it carries out: their hosts are held, or the places are taken.
WAITING = 32


class Queue:
    """The queue in one database: its jobs, beside its ``roster`` of workers, ``calendar`` of nights, and ``strays``.

    Raises:
        DatabaseGone: from every method that asks it.
    """

    def __init__(self, database: Database, client: DBOSClient, roster: Roster) -> None:
        self._database = database
        self._client = client
        self.roster = roster
        self.calendar = Calendar(database, client)
        self.strays = Strays(database, client)

    def prepare(self, slots: int, polling: float = 1.0) -> None:
        """Write the queues' limits: one job a host over the whole fleet, ``slots`` runs at once for each worker.

        A worker looks after ``WAITING`` jobs more, which wait for a held host or a place.
        """
        with answering(self._database):
            self._client.register_queue(
                QUEUE, partition_concurrency=1, worker_concurrency=slots + WAITING, polling_interval_sec=polling
            )
            self._client.register_queue(RUNS, worker_concurrency=slots, polling_interval_sec=polling)
            self._client.register_queue(ROLLOUTS, polling_interval_sec=polling)

    def submit(self, rollout: Rollout) -> None:
        """Queue jobs in order, each in its host's lane, all or none; one that is queued already stays as it is.

        Where they come in several waves a worker queues each when the one before has ended.
        """
        with answering(self._database):
            if len(rollout.waves) > 1:
                self._client.enqueue(waves_options(rollout), rollout.document())
                return
            with self.roster.writing() as transaction:  # one by one each would wait for the workers' own writing
                for job in rollout.waves[0]:
                    self._client.enqueue_in_transaction(transaction, options(job), job.document())

    def known(self, batch: str) -> bool:
        """Whether a submission of that name was made."""
        with answering(self._database):
            return bool(self._client.list_workflows(workflow_id_prefix=batch, limit=1, load_input=False))

    def rows(self, *, batch: str = "", since: datetime | None = None, limit: int | None = None) -> list[Row]:
        """Return jobs, the newest first.

        Args:
            batch: only those whose name begins so.
            since: only those submitted since.
            limit: at most so many.
        """
        with answering(self._database):
            found = self._client.list_workflows(
                name=JOB,
                workflow_id_prefix=batch or None,
                start_time=since.astimezone(UTC).isoformat() if since else None,
                limit=limit,
                sort_desc=True,
            )
        rows = [row_of(status) for status in found]
        return sorted(rows, key=lambda row: row.job.job_id, reverse=True)  # many are submitted in one millisecond

    def rollouts(self, prefix: str) -> list[WorkflowStatus]:
        """Return the rollouts whose name begins so, the newest first."""
        with answering(self._database):
            return self._client.list_workflows(
                name=ROLLOUT, workflow_id_prefix=prefix or None, load_input=False, limit=20, sort_desc=True
            )

    def rollout_ends(self, prefix: str) -> dict[str, Document | None]:
        """Return how rollouts ended (``stopped``: why; ``withheld``: jobs not queued); None for one that goes on."""
        return {one.workflow_id: one.output if isinstance(one.output, dict) else None for one in self.rollouts(prefix)}

    def cancel(self, prefix: str, who: str) -> list[Row]:
        """Cancel every job, and the rollout, whose name begins so; one that runs cleans up first.

        The word is written before the state is changed, so that a worker that takes the job in between sees it. A job
        that waits for its first place ends at once, with the run that waits for it, and so does one that waits for a
        held host: its last run is over, and a next one reads the word before it is opened.

        Raises:
            UsageError: there is none that has not ended.
        """
        open_rows = [row for row in self.rows(batch=prefix) if row.told is None and row.state != "cancelled"]
        rollouts = [one.workflow_id for one in self.rollouts(prefix) if one.status in OPEN]
        if not open_rows and not rollouts:
            raise UsageError(f"No job that has not ended is called {prefix}….", next="stager fleet status")
        with answering(self._database):
            for name in rollouts:
                self._client.cancel_workflow(name)
            for row in open_rows:
                self._client.update_workflow_attributes(row.job.job_id, {"cancelled_by": who}, merge=True)
        words = {row.job.job_id for row in open_rows}
        now = [row for row in self.rows(batch=prefix) if row.job.job_id in words]
        with answering(self._database):  # a run that is named from here on reads the word before it is opened
            for row in now:
                if row.state == "queued" or (row.state == "waiting" and (row.waits or not row.run_id)):
                    self._client.cancel_workflow(row.job.job_id, cancel_children=True)
        return self.rows(batch=prefix)

    def owner(self, workflow_id: str) -> str:
        """Return which process a workflow belongs to now."""
        with answering(self._database):
            found = self._client.list_workflows(workflow_ids=[workflow_id], load_input=False, load_output=False)
        return found[0].executor_id or ""

    def run_of(self, job_id: str) -> str:
        """Return the run that was named last for a job; empty where none was."""
        with answering(self._database):
            found = self._client.list_workflows(workflow_ids=[job_id], load_input=False, load_output=False)
        return str((found[0].attributes or {}).get("run_id", ""))

    def cancelled(self, job_ids: Sequence[str]) -> set[str]:
        """Return those of some jobs that somebody has cancelled."""
        if not job_ids:
            return set()
        with answering(self._database):
            found = self._client.list_workflows(workflow_ids=list(job_ids), load_input=False, load_output=False)
        return {one.workflow_id for one in found if (one.attributes or {}).get("cancelled_by")}

    def taken_over(self, job_id: str) -> bool:
        """Whether a job reads as cancelled only because another version is about to begin it anew, or has."""
        with answering(self._database):
            found = self._client.list_workflows(workflow_ids=[job_id], load_input=False, load_output=False)
        return was_taken_over(found[0])

    def note(self, job_id: str, attributes: Mapping[str, str]) -> None:
        """Write words beside a job, such as its run's id."""
        with answering(self._database):
            self._client.update_workflow_attributes(job_id, dict(attributes), merge=True)

    def nothing_works(self) -> str:
        """Return why nothing would carry out a job submitted now; empty where a worker is there."""
        entries = self.roster.all()
        if any(entry.alive for entry in entries):
            return ""
        last = f"; the last one, {entries[0].process}, was heard of {entries[0].age:.0f} s ago" if entries else ""
        return f"no worker serves the queue in {self._database.shown}{last}"

    def workers(self) -> list[Entry]:
        """Return the workers."""
        return self.roster.all()


@contextmanager
def open_queue(database: Database) -> Iterator[Queue]:
    """Open the queue, making its tables if they are not there.

    Raises:
        DatabaseGone: no answer.
        ModuleNotFoundError: the extra `fleet` is not installed.
    """
    from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer

    logging.getLogger("dbos").setLevel(logging.ERROR)
    with answering(database):
        DBOS.migrate(database.url)
        client = DBOSClient(
            system_database_url=database.url,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
            system_database_pool_size=2,
        )
    roster = Roster(database)
    try:
        yield Queue(database, client, roster)
    finally:
        roster.close()
        client.destroy()
