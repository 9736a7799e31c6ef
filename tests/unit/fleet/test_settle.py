"""What a run's own record says of the job it was carried out for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.evidence.records import Records
from stager.fleet.settle import by_record
from stager.models.evidence import HostFacts
from stager.models.record import Cleanup, RunRecord
from tests.unit.fleet.cases import utc
from tests.unit.fleet.test_work import job

RUN = "20261129t220000-aaaaaa"


@pytest.mark.parametrize(
    ("code", "ending"),
    [(0, "done"), (6, "done"), (8, "done"), (11, "interrupted"), (129, "interrupted"), (143, "interrupted")],
)
def test_a_run_that_was_cut_short_is_no_end(tmp_path: Path, code: int, ending: str) -> None:
    """A run that was stopped, or that its host's guard ended (11), was cut short; any other came to its own end."""
    host = HostFacts(address="gpu1", kernel="6", machine="x86_64", boot_id="b", gpus=(), driver="")
    cleanup = Cleanup(
        candidate_stopped=True,
        restored=(),
        left=(),
        markers_cleared=(),
        production_as_before=True,
        downtime_seconds=1.0,
    )
    record = RunRecord(
        run_id=RUN,
        build_id=None,
        host=host,
        playbook="p",
        started_at=utc("2026-11-29 22:00"),
        ended_at=utc("2026-11-29 22:05"),
        steps=(),
        evidence=(),
        cleanup=cleanup,
        exit_code=code,
    )
    Records(tmp_path).save(record)

    told = by_record(job(), RUN, tmp_path)

    assert told is not None
    assert (told.ending, told.exit_code) == (ending, code)


def test_a_damaged_record_leaves_the_word_to_the_host(tmp_path: Path) -> None:
    """A record that cannot be read says nothing of the run's end, and stops no worker."""
    path = tmp_path / "runs" / RUN / "record.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")

    assert by_record(job(), RUN, tmp_path) is None
