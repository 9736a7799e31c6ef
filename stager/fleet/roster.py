"""Who works on the queue: one row for each worker process, renewed by it, judged by the database's own clock.

A process has a name of its own, never that of the one before it in the same state folder: what a dead process had begun
can then be taken over without touching what its successor has begun since.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from stager.fleet.database import Database, answering

#: A worker renews its row so often; one that has not for so long is dead (seconds).
BEAT_EVERY = 2.0
DEAD_AFTER = 30.0
#: How long a writer of the queue's file waits for others: they write often and briefly (seconds).
FILE_PATIENCE = 30
_TABLE = "stager_fleet_workers"


@dataclass(frozen=True, slots=True)
class Entry:
    """One worker process: the state folder it serves, how many runs it takes at once, the row's age (seconds)."""

    process: str
    folder: str
    slots: int
    age: float

    @property
    def alive(self) -> bool:
        """Whether its sign of life is recent."""
        return self.age < DEAD_AFTER


class Roster:
    """The rows of all workers of one queue."""

    def __init__(self, database: Database, *, patience: int = 5) -> None:
        import sqlalchemy as sa

        self._sa: Any = sa
        self._database = database
        address = sa.make_url(database.url)
        arguments: dict[str, Any] = {"timeout": FILE_PATIENCE}
        if not database.local:
            address = address.set(drivername="postgresql+psycopg")
            arguments = {"connect_timeout": patience, "application_name": "stager_fleet"}
        self._engine = sa.create_engine(address, pool_size=1, pool_pre_ping=True, connect_args=arguments)
        self._table = sa.Table(
            _TABLE,
            sa.MetaData(),
            sa.Column("process", sa.Text, primary_key=True),
            sa.Column("folder", sa.Text, nullable=False),
            sa.Column("slots", sa.Integer, nullable=False),
            sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        )

    def writing(self) -> AbstractContextManager[Any]:
        """Return one transaction on the queue's database: all of it is written, or nothing."""
        return cast("AbstractContextManager[Any]", self._engine.begin())

    def make(self) -> None:
        """Make the table if need be.

        Raises:
            DatabaseGone: no answer.
        """
        with answering(self._database):
            self._table.metadata.create_all(self._engine, checkfirst=True)

    def beat(self, process: str, folder: str, slots: int) -> None:
        """Renew a process's row.

        Raises:
            DatabaseGone: no answer.
        """
        sa, table = self._sa, self._table
        row = {"folder": folder, "slots": slots, "seen": sa.func.current_timestamp()}
        with answering(self._database), self._engine.begin() as connection:
            changed = connection.execute(sa.update(table).where(table.c.process == process).values(**row))
            if not changed.rowcount:
                connection.execute(sa.insert(table).values(process=process, **row))

    def strike(self, process: str) -> None:
        """Take a process's row away: it ended in order, or nothing it had begun is left.

        Raises:
            DatabaseGone: no answer.
        """
        with answering(self._database), self._engine.begin() as connection:
            connection.execute(self._sa.delete(self._table).where(self._table.c.process == process))

    def all(self) -> list[Entry]:
        """Return every process that is not struck off, the newest sign of life first.

        Raises:
            DatabaseGone: no answer.
        """
        sa, table = self._sa, self._table
        with answering(self._database), self._engine.connect() as connection:
            if not sa.inspect(connection).has_table(_TABLE):
                return []
            rows = connection.execute(sa.select(table, sa.func.current_timestamp().label("now"))).all()
        found = [
            Entry(row.process, row.folder, row.slots, (_aware(row.now) - _aware(row.seen)).total_seconds())
            for row in rows
        ]
        return sorted(found, key=lambda entry: entry.age)

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()


def _aware(when: datetime | str) -> datetime:
    """Return the database's time as an aware one; SQLite gives UTC without saying so."""
    parsed = datetime.fromisoformat(when) if isinstance(when, str) else when
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
