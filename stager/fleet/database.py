"""Where the queue lives: a file of this machine by default, a PostgreSQL server where several controllers share it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from stager.errors import StagerError, UsageError

#: The environment variable with the database's address; a password belongs there or in ~/.pgpass, never in argv.
VARIABLE = "STAGER_FLEET_DATABASE"
_SCHEMES = ("postgresql", "postgres", "sqlite")


class DatabaseGone(StagerError):
    """The queue's database does not answer. Runs under way are not touched by that; nothing new starts."""

    default_host_state = "untouched by this; runs under way end and restore without the database"


@dataclass(frozen=True, slots=True)
class Database:
    """The queue's database: ``url`` may hold a password and is never shown; ``shown`` is."""

    url: str

    @property
    def local(self) -> bool:
        """Whether it is a file of this machine, which one worker serves."""
        return self.url.startswith("sqlite")

    @property
    def shown(self) -> str:
        """The address without user and password."""
        if self.local:
            return self.url.partition("///")[2]
        parts = urlsplit(self.url)
        return f"{parts.hostname or 'local socket'}{f':{parts.port}' if parts.port else ''}{parts.path}"


def find_database(home: Path, given: str | None = None) -> Database:
    """Return the database an option names, else the environment's, else the file in ``$STAGER_HOME/fleet``.

    Raises:
        UsageError: the address is of no kind we know, or an option holds a password.
    """
    url = given or os.environ.get(VARIABLE, "")
    if not url:
        file = _file(home)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Database(f"sqlite:///{file}")
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise UsageError(
            f"The fleet's database must be one of {', '.join(_SCHEMES)}://…, not {parts.scheme or 'this'}."
        )
    if given and parts.password:
        raise UsageError(
            f"A password on the command line is seen by every user of this machine; put the address into {VARIABLE}, "
            "or the password into ~/.pgpass."
        )
    return Database("postgresql" + url.removeprefix(parts.scheme) if parts.scheme == "postgres" else url)


def in_use(home: Path) -> bool:
    """Whether anything was ever queued from this state folder, or a shared database is named."""
    return bool(os.environ.get(VARIABLE)) or _file(home).exists()


def _file(home: Path) -> Path:
    return home / "fleet" / "queue.sqlite"


@contextmanager
def answering(database: Database) -> Iterator[None]:
    """Turn what goes wrong in a database's driver into one sentence."""
    from sqlalchemy.exc import DBAPIError, OperationalError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    try:
        yield
    except (OperationalError, PoolTimeout, DBAPIError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise DatabaseGone(
            f"The fleet's database ({database.shown}) does not answer: {reason}", next="stager fleet status"
        ) from error
