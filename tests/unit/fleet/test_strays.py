"""What dead workers left in a queue in a file, as the next version finds it; rows are put as the engine leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stager.fleet.database import Database
from stager.fleet.files import submission
from stager.fleet.queue import Queue
from stager.fleet.rows import JOB, TAKEN_OVER, VERSION
from tests.unit.fleet.cases import utc
from tests.unit.fleet.engine import OLDER, Engine

FIRST, SECOND, RUN_ID = "batch-0001", "batch-0002", f"batch-0001.{OLDER}.0"


@pytest.fixture
def engine(queue: Queue, database: Database, playbook: Callable[..., Path]) -> Iterator[Engine]:
    """Two jobs lie in the queue."""
    queue.submit(submission([playbook("a"), playbook("b", "gpu2")], "batch", utc("2026-11-29 22:00")))
    made = Engine(database)
    yield made
    made.close()


def adopt(queue: Queue, *living: str) -> list[str]:
    """Begin anew what the older version put back; returns which."""
    found = queue.strays.put_back(living)
    for one in found:
        queue.strays.begin_anew(one)
    return sorted(one.workflow_id for one in found)


def test_what_was_put_back_under_a_struck_off_worker_is_begun_anew(queue: Queue, engine: Engine) -> None:
    """A job that recovery gave back, whose process is in no roster, goes to this version; what others hold stays."""
    engine.served_by(OLDER, VERSION)
    engine.put(FIRST, application_version=OLDER, executor_id="host.1.dead")
    engine.put(SECOND, application_version=OLDER, executor_id="host.2.alive")

    assert adopt(queue, "host.2.alive", "host.3.me") == [FIRST]

    assert engine.row(FIRST)[:2] == ("ENQUEUED", VERSION)
    assert engine.row(SECOND) == ("ENQUEUED", OLDER, "host.2.alive")
    assert adopt(queue, "host.2.alive", "host.3.me") == []


def test_one_left_half_begun_anew_is_found(queue: Queue, engine: Engine) -> None:
    """A row that was cancelled only on the way to this version goes on, though its process is in no roster."""
    engine.served_by(OLDER, VERSION)
    queue.note(FIRST, {TAKEN_OVER: VERSION})
    engine.client.cancel_workflow(FIRST)
    engine.client.cancel_workflow(SECOND)
    for job_id in (FIRST, SECOND):
        engine.put(job_id, application_version=OLDER, executor_id="host.1.dead")

    assert adopt(queue) == [FIRST]

    assert engine.row(FIRST)[:2] == ("ENQUEUED", VERSION)
    assert engine.row(SECOND)[:2] == ("CANCELLED", OLDER)


def test_only_the_newest_version_takes_what_was_put_back(queue: Queue, engine: Engine) -> None:
    """Beside a newer version this one takes nothing, or the two would take turns at a row."""
    engine.served_by(OLDER, VERSION, "stager-fleet-newer")
    engine.put(FIRST, application_version=OLDER, executor_id="host.1.dead")

    assert adopt(queue) == []
    assert engine.row(FIRST) == ("ENQUEUED", OLDER, "host.1.dead")


def test_one_that_went_on_meanwhile_is_left_alone(queue: Queue, engine: Engine) -> None:
    """Between our look and our hand another worker took one job up, and the other job ended: both stay as they are."""
    engine.served_by(OLDER, VERSION)
    for job_id in (FIRST, SECOND):
        engine.put(job_id, application_version=OLDER, executor_id="host.1.dead")
    found = queue.strays.put_back(())
    engine.put(FIRST, status="PENDING", executor_id="host.2.alive")
    engine.put(SECOND, status="SUCCESS")

    for one in found:
        queue.strays.begin_anew(one)

    assert engine.row(FIRST) == ("PENDING", OLDER, "host.2.alive")
    assert engine.row(SECOND) == ("SUCCESS", OLDER, "host.1.dead")


def test_an_older_versions_waiting_run_ends_with_its_job(queue: Queue, engine: Engine) -> None:
    """The run that waited for a place is not carried out beside the one the job gets from this version."""
    engine.put(FIRST, status="PENDING", application_version=OLDER, executor_id="host.1.dead")
    engine.waiting_run(FIRST, RUN_ID)

    (stray,) = queue.strays.left_by(["host.1.dead"])
    assert (stray.workflow_id, stray.name) == (FIRST, JOB)
    queue.strays.begin_anew(stray)

    assert engine.row(FIRST)[:2] == ("ENQUEUED", VERSION)
    assert engine.row(RUN_ID)[0] == "CANCELLED"


def test_a_waiting_job_is_cancelled_at_once_with_its_run(queue: Queue, engine: Engine) -> None:
    """A job without a place ends with the run that waits for one; one whose run is named is left to clean up."""
    for job_id in (FIRST, SECOND):
        engine.put(job_id, status="PENDING", application_version=VERSION, executor_id="host.1.a")
    engine.waiting_run(FIRST, RUN_ID)
    queue.note(SECOND, {"run_id": "20261129t220000-abcdef", "worker": "host.1.a"})

    rows = {row.job.job_id: (row.state, row.cancelled_by) for row in queue.cancel("batch", "me@here")}

    assert rows == {FIRST: ("cancelled", "me@here"), SECOND: ("running", "me@here")}
    assert engine.row(RUN_ID)[0] == "CANCELLED"


def test_a_job_on_its_way_to_another_version_is_not_cancelled(queue: Queue, engine: Engine) -> None:
    """Between its cancel and its new beginning, and after that, a rollout is told so; a person's cancel is believed."""
    engine.put(FIRST, application_version=OLDER)
    queue.note(FIRST, {TAKEN_OVER: VERSION})
    engine.client.cancel_workflow(FIRST)
    assert queue.taken_over(FIRST)
    engine.client.rewind_workflow(FIRST, application_version=VERSION)
    assert queue.taken_over(FIRST)

    for job_id in (FIRST, SECOND):
        engine.client.cancel_workflow(job_id)

    assert not queue.taken_over(FIRST)
    assert not queue.taken_over(SECOND)
