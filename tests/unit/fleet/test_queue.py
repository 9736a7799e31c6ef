"""The queue in a file, as commands see it while no worker runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stager.errors import UsageError
from stager.fleet.database import VARIABLE, Database, DatabaseGone, find_database
from stager.fleet.files import submission
from stager.fleet.queue import Queue, open_queue
from tests.unit.fleet.cases import utc

NOW = utc("2026-11-29 22:00")


@pytest.fixture
def queued(queue: Queue, playbook: Callable[..., Path]) -> Queue:
    """Three jobs for two hosts."""
    queue.submit(submission([playbook("a"), playbook("b"), playbook("c", "gpu2")], "batch", NOW))
    return queue


def test_jobs_lie_there_as_submitted(queued: Queue) -> None:
    """A job comes out of the database as it went in, the newest first."""
    rows = queued.rows()

    assert [(row.job.name, row.job.host, row.state) for row in reversed(rows)] == [
        ("a", "gpu1", "queued"),
        ("b", "gpu1", "queued"),
        ("c", "gpu2", "queued"),
    ]
    assert queued.known("batch")
    assert not queued.known("other")


def test_jobs_of_one_millisecond_are_listed_in_their_order(queue: Queue, playbook: Callable[..., Path]) -> None:
    """A submission is written at once: its jobs' names say which comes first, not only the time."""
    queue.submit(submission([playbook("a")] * 60, "batch", NOW))

    names = [row.job.job_id for row in queue.rows()]
    assert names == sorted(names, reverse=True)


def test_submitting_twice_is_submitting_once(queued: Queue, playbook: Callable[..., Path]) -> None:
    """A job's name is its identity: whoever queues it again changes nothing."""
    queued.submit(submission([playbook("a")], "batch", NOW))

    assert len(queued.rows()) == 3


def test_a_job_that_was_not_begun_is_cancelled_at_once(queued: Queue) -> None:
    """It never starts, and says who cancelled it."""
    queued.cancel("batch-0002", "me@here")

    states = {row.job.name: (row.state, row.cancelled_by) for row in queued.rows()}
    assert states["b"] == ("cancelled", "me@here")
    assert states["a"] == ("queued", "")
    with pytest.raises(UsageError, match="No job that has not ended"):
        queued.cancel("batch-0002", "me@here")


def test_nothing_works_is_said(queue: Queue) -> None:
    """Without a worker, and with one that has long been silent, it is said; a fresh sign of life ends that."""
    assert "no worker serves the queue" in queue.nothing_works()
    queue.roster.beat("host.1.a", "host:/home", 8)
    assert queue.nothing_works() == ""
    assert [(entry.process, entry.slots, entry.alive) for entry in queue.workers()] == [("host.1.a", 8, True)]
    queue.roster.strike("host.1.a")
    assert "no worker" in queue.nothing_works()


def test_a_password_is_not_taken_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option with a password is refused; the environment may hold one, and it is never shown."""
    with pytest.raises(UsageError, match="every user of this machine"):
        find_database(tmp_path, "postgresql://me:secret@db/fleet")
    with pytest.raises(UsageError, match="must be one of"):
        find_database(tmp_path, "mysql://db/fleet")
    monkeypatch.setenv(VARIABLE, "postgres://me:secret@db:5433/fleet")
    assert find_database(tmp_path).shown == "db:5433/fleet"


def test_a_database_that_is_gone_is_told_in_a_sentence() -> None:
    """No answer is one error of ours, which says that runs go on."""
    with pytest.raises(DatabaseGone) as error, open_queue(Database("postgresql://me:secret@127.0.0.1:1/none")):
        pass
    assert "127.0.0.1:1/none" in error.value.message
    assert "secret" not in error.value.message
