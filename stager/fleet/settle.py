"""Settle a run whose process is gone: ask its host how it ended, wait for the host's own restore, never run it again.

A run with a lease that is still renewed belongs to somebody who lives, and is waited for. When its lease is over the
guard on the host restores by itself; only where no guard does is the restore asked for from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.errors import ConnectionLost, Fenced, NotRestored, StagerError, Stopped, Unreachable, gravest
from stager.evidence.records import DamagedRecord, Records
from stager.evidence.store import Store
from stager.fleet.jobs import playbook_of
from stager.fleet.launches import WorkerStops
from stager.models.fleet import Job, Told
from stager.models.record import RunRecord
from stager.run.attached import attach, facts_of
from stager.run.copies import keep_files
from stager.staging.cleanup import Ended, collect, ended_from, restore
from stager.staging.session import Session, open_session

#: Between two questions to a host whose run goes on, and between two attempts to reach one (seconds).
ASK_EVERY = 2.0
TRY_EVERY = 5.0
#: How long after a lease is over the host's own guard may take to begin; then the restore is asked for (seconds).
GUARD_SLACK = 30.0
#: How long a host that cannot be reached is tried (seconds).
REACH_FOR = 3600.0
#: Runs looked through on the host for ours.
LOOK_BACK = 50
INTERRUPTED = Stopped(15).code
#: Exit codes of runs that did not come to their own end: stopped from here, or ended by the host's guard.
CUT_SHORT = (*(Stopped(signum).code for signum in (1, 2, 15)), Fenced.exit_code)


@dataclass(frozen=True, slots=True)
class Settling:
    """What a settling needs: where records are kept, time, and whether to give up (the worker stops)."""

    home: Path
    clock: Clock
    stopped: Callable[[], bool] = lambda: False
    reach_for: float = REACH_FOR


def settle(job: Job, run_id: str, how: Settling) -> Told:
    """Return how a run ended, by this machine's own record or by its host's journal.

    Raises:
        WorkerStops: it was not known yet.
    """
    if known := by_record(job, run_id, how.home):
        return known
    begun = how.clock.monotonic()
    trouble: StagerError | None = None
    while how.clock.monotonic() - begun < how.reach_for:
        if how.stopped():
            raise WorkerStops
        try:
            with open_session(playbook_of(job).host) as session:
                return _by_host(session, job, run_id, how)
        except (Unreachable, ConnectionLost) as error:
            trouble = error
            how.clock.sleep(TRY_EVERY)
    return Told(
        ending="lost",
        exit_code=NotRestored.exit_code,
        run_id=run_id,
        kind="lost",
        message=f"{job.host} could not be asked how run {run_id} ended: {trouble.message if trouble else 'no time'}",
        host_state="not known; its guard restores by itself when the lease is over",
    )


def by_record(job: Job, run_id: str, home: Path) -> Told | None:
    """Return what this machine's own record says, if it knows how the run ended."""
    if run_id not in Records(home).ids():
        return None
    try:
        record = Records(home).load(run_id)
    except DamagedRecord:
        return None  # its host knows
    if record.exit_code is None or record.cleanup is None:
        return None
    return told_of(record, "interrupted" if record.exit_code in CUT_SHORT else "done", "")


def _by_host(session: Session, job: Job, run_id: str, how: Settling) -> Told:
    """Wait for the host's verdict on a run."""
    over_since: float | None = None
    while True:
        entry = _entry(session, run_id)
        if entry is None:
            return Told(
                ending="never begun", exit_code=INTERRUPTED, run_id=run_id, message="the host knows no such run"
            )
        verdict = entry.get("verdict")
        if verdict and verdict["step"] != "held":
            return _settled(session, job, run_id, ended_from(run_id, verdict), str(verdict.get("reason", "")), how)
        if verdict:  # a foreign marker holds production down: a person is needed, and the guard goes on by itself
            return _settled(session, job, run_id, ended_from(run_id, verdict), "held", how)
        if entry["state"] in ("released", "never begun"):
            return Told(ending="never begun", exit_code=INTERRUPTED, run_id=run_id, message="nothing had been changed")
        now = how.clock.monotonic()
        over_since = None if entry["lease_seconds_left"] > 0 else (over_since or now)
        if over_since is not None and now - over_since > GUARD_SLACK:
            attach(session, run_id)
            ended = restore(session, run_id, "settled by the fleet's worker")
            return _settled(session, job, run_id, ended, "settled", how)
        if how.stopped():
            raise WorkerStops
        how.clock.sleep(ASK_EVERY)


def _entry(session: Session, run_id: str) -> Mapping[str, Any] | None:
    told = session.call("status", "status", last=LOOK_BACK)
    return next((entry for entry in told["runs"] if entry["run_id"] == run_id), None)


def _settled(session: Session, job: Job, run_id: str, ended: Ended, reason: str, how: Settling) -> Told:
    """Keep the journal and a record of the run, and say how it ended."""
    kept = collect(session, run_id)
    keep_files(how.home, run_id, {"journal.jsonl": kept.journal, "output.log": kept.output, "playbook.yaml": job.text})
    if known := by_record(job, run_id, how.home):  # its own process wrote it meanwhile, in its orderly end
        return known
    error = ended.error(job.host)
    code = gravest([INTERRUPTED, *([error.code] if error else [])])
    note = f"cut short with the worker that carried it out; the host ended it by itself: {reason}"
    begun = record_of(session, job, run_id, how.home)
    update = {"cleanup": ended.cleanup, "exit_code": code, "ended_at": how.clock.now(), "notes": (*begun.notes, note)}
    record = begun.model_copy(update=update)
    Records(how.home).save(record)
    return told_of(record, "interrupted", error.message if error else f"cut short with its worker; {ended.words}")


def record_of(session: Session, job: Job, run_id: str, home: Path) -> RunRecord:
    """Return what this machine knows of a run whose end it does not know: its record, or at least its evidence."""
    with suppress(DamagedRecord):  # then as if there were none: what can be told again takes its place
        if run_id in Records(home).ids():
            return Records(home).load(run_id)
    exhibits, _ = Store(home).search(run_id=run_id)
    evidence = tuple(item.evidence for item in exhibits)
    return RunRecord(
        run_id=run_id,
        build_id=evidence[0].build_id if evidence else None,
        host=evidence[0].host if evidence else facts_of(None, playbook_of(job).host.address, session.onhost.hello),
        playbook=job.name,
        started_at=started(run_id, job.submitted),
        ended_at=None,
        steps=(),
        evidence=evidence,
        cleanup=None,
        exit_code=None,
    )


def told_of(record: RunRecord, ending: Any, message: str) -> Told:  # noqa: ANN401 - one of Ending's words
    """Return what a run's record means for its job."""
    before = record.cleanup is not None and record.cleanup.production_as_before
    return Told(
        ending=ending,
        exit_code=record.exit_code or 0,
        run_id=record.run_id,
        kind="" if ending == "done" else ending,
        message=message,
        host_state="production as before" if before else "production is not as before",
        ended=record.ended_at,
        record=record.document(),
    )


def started(run_id: str, otherwise: datetime) -> datetime:
    """Return when a run began, from its name."""
    try:
        return datetime.strptime(run_id.partition("-")[0], "%Y%m%dt%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return otherwise
