"""``stager stage``: stage, and leave the candidate running under the guard."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from stager.evidence.records import Records
from stager.loading import LoadedPlaybook
from stager.models.evidence import HostFacts
from stager.models.record import RunRecord
from stager.run.copies import keep_files
from stager.run.secrets import secrets_of
from stager.staging.session import Listener, Session, open_session
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

        def begun(staging: Staging) -> None:
            assert staging.host is not None
            record = _record(loaded, staging.run_id, None, staging.host, now, session)
            Records(home).save(record)
            keep_files(home, staging.run_id, {"playbook.yaml": loaded.text})

        staged = Staging(loaded, session, now, begun=begun).stage(secrets, hold=hold)
        record = _record(loaded, staged.run_id, staged.build.build_id, staged.host, now, session)
        record = record.model_copy(update={"context": staged.context})
        Records(home).save(record)
        return staged, record, session.onhost.exchanges


def _record(
    loaded: LoadedPlaybook, run_id: str, build_id: str | None, host: HostFacts, now: datetime, session: Session
) -> RunRecord:
    return RunRecord(
        run_id=run_id,
        build_id=build_id,
        host=host,
        playbook=loaded.playbook.name,
        started_at=now,
        ended_at=None,
        steps=tuple(session.steps),
        evidence=(),
        cleanup=None,
        exit_code=None,
    )
