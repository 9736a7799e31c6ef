"""Taking over a run that somebody staged: from any controller, also when the playbook has changed or is lost since."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stager.errors import Fenced, StagerError, UsageError
from stager.evidence.records import Records
from stager.models.evidence import HostFacts
from stager.models.playbook import HostSpec, Playbook
from stager.models.record import RunRecord
from stager.models.source import Source
from stager.run.blame import graver
from stager.staging.cleanup import Ended, Kept, collect, restore
from stager.staging.session import Session


def host_of(home: Path, run: str) -> tuple[str, HostSpec]:
    """Find a run of this controller: its full id and how its host is reached (from the copy kept at staging).

    Raises:
        UsageError: this controller knows no such run.
    """
    run_id = Records(home).resolve(run)  # the copy of its playbook is enough, whatever became of its record
    kept = home / "runs" / run_id / "playbook.yaml"
    text = kept.read_text(encoding="utf-8")
    return run_id, Source.parse(text, str(kept)).part(Playbook, ()).host


def attach(session: Session, run_id: str, *, beside: bool = False) -> dict[str, Any]:
    """Take a run over; whoever held it before can change nothing any more, unless we only stand ``beside`` him.

    A run that ended has its verdict in ``over``.

    Raises:
        StagerError: the host knows none of that name, or several.
        Fenced: ``beside`` a restore.
    """
    answer: dict[str, Any] = session.call("attach", "attach", run_id=run_id, beside=beside)
    session.granted(answer)
    return answer


def attach_open(session: Session, run_id: str, *, beside: bool = False) -> dict[str, Any]:
    """Take over a run that goes on, or stand ``beside`` whoever has it.

    Raises:
        UsageError: it ended meanwhile; the message says how.
        Fenced: ``beside`` a restore.
    """
    answer = attach(session, run_id, beside=beside)
    if answer["over"]:
        verdict = answer["over"]
        raise UsageError(
            f"Run {answer['run_id']} is over since {verdict['wall']}: {verdict['step']} ({verdict['reason']}).",
            host_state=verdict["step"],
            next=f"stager show {answer['run_id']}",
        )
    return answer


def ended_meanwhile(session: Session, run_id: str, error: StagerError) -> StagerError:
    """The error of a run that ended under us, with what became of the host: the restore is followed to its end.

    Returns the restore's own error where that is the graver one.
    """
    try:
        ended = restore(session, run_id, "its end is followed")
    except Fenced:  # another controller has it, and will say how it ends
        return error
    return graver(error, ended, session.host.address)


def end(session: Session, run_id: str, reason: str) -> tuple[Ended, Kept]:
    """Restore a run and fetch its journal. One that is over is told as it ended; only "NOT restored" is tried again."""
    answer = attach(session, run_id)
    ended = restore(session, answer["run_id"], reason)
    return ended, collect(session, answer["run_id"])


def with_end(record: RunRecord, ended: Ended, session: Session) -> RunRecord:
    """The record of a run with its end added."""
    return record.model_copy(
        update={"cleanup": ended.cleanup, "exit_code": ended.code, "steps": (*record.steps, *session.steps)}
    )


def facts_of(record: RunRecord | None, address: str, hello: Mapping[str, Any]) -> HostFacts:
    """The host as recorded at staging, or as little as the handshake tells of it."""
    return record.host if record else HostFacts(address=address, boot_id=str(hello["boot_id"]))
