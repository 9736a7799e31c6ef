"""The record of a promotion or rollback, whichever way it ended."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from stager.errors import StagerError
from stager.evidence.records import Records
from stager.models.answer import GateAnswer
from stager.models.evidence import Evidence
from stager.models.record import RunRecord
from stager.run.copies import keep_files
from stager.staging.cleanup import Ended, collect
from stager.staging.stage import Staging


def keep_record(
    home: Path,
    staging: Staging,
    ended: Ended,
    *,
    now: datetime,
    build_id: str | None,
    evidence: Sequence[Evidence],
    gate: GateAnswer | None,
    note: str,
    code: int,
) -> None:
    """Keep what was done and found, with the host's journal where it can still be fetched."""
    assert staging.host is not None
    record = RunRecord(
        run_id=staging.run_id,
        build_id=build_id,
        host=staging.host,
        playbook=staging.loaded.playbook.name,
        started_at=staging.begun,
        ended_at=now,
        steps=tuple(staging.session.steps),
        evidence=tuple(evidence),
        cleanup=ended.cleanup,
        exit_code=code,
        gate=gate,
        notes=(note,),
    )
    Records(home).save(record)
    files = {"playbook.yaml": staging.loaded.text}
    with contextlib.suppress(StagerError):  # the host is gone again; the journal stays there
        files["journal.jsonl"] = collect(staging.session, staging.run_id).journal
    keep_files(home, staging.run_id, files)
