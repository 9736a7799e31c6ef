"""The nights of a fleet as its queue keeps them: when the workers are asked, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stager.fleet.database import Database, answering
from stager.fleet.rows import APPLICATION, NIGHT, Document

if TYPE_CHECKING:
    from dbos import DBOSClient


class Calendar:
    """The nights in one database.

    Raises:
        DatabaseGone: from every method.
    """

    def __init__(self, database: Database, client: DBOSClient) -> None:
        self._database = database
        self._client = client

    def add(self, name: str, cron: str, timezone: str, context: Mapping[str, Any]) -> None:
        """Have the workers ask, at the times of a cron expression, whether a night's jobs may be queued."""
        with answering(self._database):
            self._client.create_schedule(
                schedule_name=name,
                workflow_name=NIGHT,
                schedule=cron,
                context=dict(context),
                cron_timezone=timezone,
                application_name=APPLICATION,
            )

    def all(self) -> list[Document]:
        """Return the contexts of all nights."""
        with answering(self._database):
            return [dict(one["context"]) for one in self._client.list_schedules()]

    def names(self) -> list[str]:
        """Return the names of all nights."""
        return [str(context["schedule"]["name"]) for context in self.all()]

    def remove(self, name: str) -> None:
        """Ask no more."""
        with answering(self._database):
            self._client.delete_schedule(name)

    def asked(self, name: str, since: datetime) -> list[Document]:
        """Return what the workers answered when they were asked for a night's jobs, oldest first."""
        with answering(self._database):
            found = self._client.list_workflows(
                name=NIGHT, schedule_name=name, start_time=since.astimezone(UTC).isoformat(), load_input=False
            )
        return [one.output for one in found if isinstance(one.output, dict)]
