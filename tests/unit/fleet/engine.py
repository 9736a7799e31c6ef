"""The engine's own view of a queue's file, to leave rows there as a worker of another version does."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer

from stager.fleet.database import Database
from stager.fleet.rows import APPLICATION, RUN, RUNS

OLDER = "stager-fleet-older"


class Engine:
    """The engine's own view of the queue's file, to leave rows there as a worker does."""

    def __init__(self, database: Database) -> None:
        self._rows = sa.create_engine(database.url)
        self.client = DBOSClient(
            system_database_url=database.url,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
        )

    def served_by(self, *versions: str) -> None:
        """Say that these versions have served the queue, the newest last."""
        with self._rows.begin() as connection:
            for number, version in enumerate(versions):
                row = {"id": version, "name": version, "at": 1000 + number, "application": APPLICATION}
                connection.execute(
                    sa.text(
                        "INSERT INTO application_versions"
                        " (version_id, version_name, version_timestamp, created_at, application_name)"
                        " VALUES (:id, :name, :at, :at, :application)"
                    ),
                    row,
                )

    def put(self, workflow_id: str, **columns: Any) -> None:
        """Set columns of one row."""
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        with self._rows.begin() as connection:
            done = connection.execute(
                sa.text(f"UPDATE workflow_status SET {assignments} WHERE workflow_uuid = :id"),
                {"id": workflow_id, **columns},
            )
            assert done.rowcount == 1

    def waiting_run(self, job_id: str, run_id: str) -> None:
        """Queue a job's run as its workflow does: without a version, and of no process."""
        self.client.enqueue(
            {"workflow_name": RUN, "queue_name": RUNS, "workflow_id": run_id, "application_name": APPLICATION}, {}, []
        )
        self.put(run_id, parent_workflow_id=job_id)

    def row(self, workflow_id: str) -> tuple[str, str | None, str | None]:
        """A workflow's state, version, and process."""
        (one,) = self.client.list_workflows(workflow_ids=[workflow_id])
        return one.status, one.app_version, one.executor_id

    def close(self) -> None:
        """Close its connections."""
        self._rows.dispose()
        self.client.destroy()
