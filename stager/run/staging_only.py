"""``stager stage``: stage, and leave the candidate running under the guard."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from stager.evidence.records import Records
from stager.loading import LoadedPlaybook
from stager.models.record import RunRecord
from stager.run.copies import keep_files
from stager.run.secrets import secrets_of
from stager.staging.session import Listener, open_session
from stager.staging.stage import Staged, Staging


def stage_and_leave(
    loaded: LoadedPlaybook, home: Path, now: datetime, hold: float, listen: Listener
) -> tuple[Staged, RunRecord, int]:
    """Stage, hold for so many seconds, and keep a record that `verify` and `cleanup` add to.

    Returns:
        What was staged, its record, and how many request/answer exchanges it took.

    Raises:
        StageFailed: after the host was released or restored.
    """
    secrets = secrets_of(loaded.playbook)
    with open_session(loaded.playbook.host, listen) as session:
        staged = Staging(loaded, session, now).stage(secrets, hold=hold)
        record = RunRecord(
            run_id=staged.run_id,
            build_id=staged.build.build_id,
            host=staged.host,
            playbook=loaded.playbook.name,
            started_at=now,
            ended_at=None,
            steps=tuple(session.steps),
            evidence=(),
            cleanup=None,
            exit_code=None,
        )
        Records(home).save(record)
        keep_files(home, staged.run_id, {"playbook.yaml": loaded.text})
        return staged, record, session.onhost.exchanges
