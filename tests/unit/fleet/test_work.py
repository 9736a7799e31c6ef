"""When a job gets another run, and how long it waits for it."""

from __future__ import annotations

from datetime import timedelta

from stager.fleet.work import HELD_PAUSES, pause_before_next
from stager.models.fleet import Job, Launch, Told
from tests.unit.fleet.cases import utc

START = utc("2026-11-29 22:00")


def job(**changes: object) -> Job:
    """A job that waits ten minutes for a held host, with changes."""
    common = {
        "job_id": "b-0001",
        "batch": "b",
        "host": "gpu1",
        "name": "p",
        "path": "/p.yaml",
        "sha256": "0" * 64,
        "text": "",
        "release_key": "",
        "submitted": START,
        "submitted_by": "me@here",
    }
    return Job(**{**common, **changes})  # type: ignore[arg-type]


def one_try(ending: str, code: int = 0, *, at: float = 0.0, lasted: float = 1.0) -> tuple[Launch, Told]:
    """One run that began so many seconds after the start."""
    begun = START + timedelta(seconds=at)
    told = Told(ending=ending, exit_code=code, ended=begun + timedelta(seconds=lasted))  # type: ignore[arg-type]
    return Launch(run_id="r", process="w", at=begun), told


def test_a_run_that_ended_is_the_end() -> None:
    """Whatever a whole run came to, it is not run again."""
    assert pause_before_next(job(attempts=3), [one_try("done", 6)]) is None
    assert pause_before_next(job(attempts=3), [one_try("cancelled", 143)]) is None
    assert pause_before_next(job(attempts=3), [one_try("lost", 9)]) is None


def test_a_run_that_never_began_is_begun() -> None:
    """Where the host knows nothing of a run, nothing was done, and the job goes on at once."""
    assert pause_before_next(job(), [one_try("never begun", 143)]) == 0.0


def test_a_held_host_is_waited_for_so_long() -> None:
    """The pauses grow, and end when the job's patience would be over."""
    tries = [one_try("held", 11)]
    assert pause_before_next(job(), tries) == HELD_PAUSES[0]
    tries.append(one_try("held", 11, at=6))
    assert pause_before_next(job(), tries) == HELD_PAUSES[1]
    assert pause_before_next(job(held_for=15.0), tries) is None


def test_an_old_wait_does_not_count_again() -> None:
    """Only the wait that goes on now is measured, not one before a run that was cut short."""
    tries = [one_try("held", 11), one_try("interrupted", 143, at=500), one_try("held", 11, at=590)]
    assert pause_before_next(job(attempts=2), tries) == HELD_PAUSES[0]


def test_a_run_that_was_cut_short_is_tried_again_only_if_asked() -> None:
    """By default a job is one run; with more attempts it gets another, unless its host needs a person."""
    assert pause_before_next(job(), [one_try("interrupted", 143)]) is None
    assert pause_before_next(job(attempts=2), [one_try("interrupted", 143)]) == 0.0
    assert pause_before_next(job(attempts=2), [one_try("interrupted", 143)] * 2) is None
    assert pause_before_next(job(attempts=2), [one_try("interrupted", 9)]) is None
