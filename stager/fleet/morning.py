"""The morning's answer: per host and build what was shown, what was not, what was left, and what it cost. Pure.

Attempts of one claim are read as the gate reads them: the newest decides, and all are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import takewhile
from typing import Any

from stager.errors import Refused, StagerError, gravest
from stager.fleet.schedule import Schedule
from stager.models.evidence import Evidence, Verdict
from stager.models.record import Left, RunRecord

#: Why a night had no run where nothing says more.
NOT_ASKED = "nothing asked for it: this machine was off, or its timer is gone"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim about a build: its newest evidence, and how many attempts there were and passed."""

    newest: Evidence
    attempts: int
    passed: int

    @property
    def name(self) -> str:
        """``probe/claim``."""
        return f"{self.newest.probe}/{self.newest.claim}"

    @property
    def shown(self) -> bool:
        """Whether the newest attempt passed."""
        return self.newest.verdict is Verdict.PASSED


@dataclass(frozen=True, slots=True)
class Line:
    """One build on one host. ``as_before`` is None where a run's end is not known; ``downtime`` is in seconds."""

    host: str
    build_id: str | None
    playbooks: tuple[str, ...]
    runs: tuple[RunRecord, ...]
    claims: tuple[Claim, ...]
    left: tuple[Left, ...]
    downtime: float
    as_before: bool | None

    @property
    def shown(self) -> tuple[Claim, ...]:
        """The claims whose newest attempt passed."""
        return tuple(claim for claim in self.claims if claim.shown)

    @property
    def not_shown(self) -> tuple[Claim, ...]:
        """All others."""
        return tuple(claim for claim in self.claims if not claim.shown)


@dataclass(frozen=True, slots=True)
class Idle:
    """A night of a schedule, or a job of a fleet, without a run: why, where that is known, and the exit code for it."""

    schedule: str
    host: str
    night: date
    reason: str
    code: int = Refused.exit_code


@dataclass(frozen=True, slots=True)
class Morning:
    """The whole answer for the time from ``since`` to ``until``."""

    since: datetime
    until: datetime
    lines: tuple[Line, ...]
    idle: tuple[Idle, ...]

    @property
    def code(self) -> int:
        """The gravest exit code; a run whose end is not known counts as a fault, a night without a run by its own."""
        runs = [run for line in self.lines for run in line.runs]
        codes = [StagerError.exit_code if run.exit_code is None else run.exit_code for run in runs]
        return gravest([*codes, *(item.code for item in self.idle)])


def morning(records: Iterable[RunRecord], idle: Sequence[Idle], since: datetime, until: datetime) -> Morning:
    """Gather the runs begun since then, by host and build."""
    groups: dict[tuple[str, str | None], list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.started_at):
        if since <= record.started_at <= until:
            groups.setdefault((record.host.address, record.build_id), []).append(record)
    lines = tuple(_line(host, build, runs) for (host, build), runs in groups.items())
    return Morning(since, until, lines, tuple(idle))


def _line(host: str, build_id: str | None, runs: Sequence[RunRecord]) -> Line:
    cleanups = [run.cleanup for run in runs]
    known = [cleanup for cleanup in cleanups if cleanup is not None]
    as_before: bool | None = all(cleanup.production_as_before for cleanup in known)
    if as_before and any(run.exit_code is None for run in runs):
        as_before = None
    return Line(
        host=host,
        build_id=build_id,
        playbooks=tuple(dict.fromkeys(run.playbook for run in runs)),
        runs=tuple(runs),
        claims=_claims(item for run in runs for item in run.evidence),
        left=tuple(left for cleanup in known for left in cleanup.left),
        downtime=sum(cleanup.downtime_seconds or 0.0 for cleanup in known),
        as_before=as_before,
    )


def _claims(evidence: Iterable[Evidence]) -> tuple[Claim, ...]:
    attempts: dict[tuple[str, str], list[Evidence]] = {}
    for item in sorted(evidence, key=lambda item: item.ended_at):
        attempts.setdefault((item.probe, item.claim), []).append(item)
    return tuple(
        Claim(tried[-1], len(tried), sum(item.verdict is Verdict.PASSED for item in tried))
        for tried in attempts.values()
    )


def idle_nights(
    schedules: Mapping[Schedule, frozenset[date]],
    refusals: Mapping[tuple[str, date], str],
    since: datetime,
    until: datetime,
) -> list[Idle]:
    """Return the nights that opened since then and had no run; ``schedules`` maps each to its claimed nights."""
    idle = []
    for schedule, started in schedules.items():
        window, begin = schedule.window(), max(since, datetime.fromisoformat(schedule.added))
        opened = takewhile(lambda night: night.start <= until, window.nights(begin.astimezone(window.zone).date()))
        for night in opened:
            reason = refusals.get((schedule.name, night.day), "")
            still_open = night.holds(until) and not reason
            if night.start < begin or night.day in started or still_open or schedule.paused:
                continue
            idle.append(Idle(schedule.name, schedule.host, night.day, reason or NOT_ASKED))
    return idle


def document(answer: Morning) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "since": answer.since.isoformat(),
        "until": answer.until.isoformat(),
        "exit_code": answer.code,
        "builds": [_line_document(line) for line in answer.lines],
        "nights_without_a_run": [
            {"schedule": item.schedule, "host": item.host, "night": item.night.isoformat(), "reason": item.reason}
            for item in answer.idle
        ],
    }


def _line_document(line: Line) -> dict[str, Any]:
    return {
        "host": line.host,
        "build_id": line.build_id,
        "playbooks": list(line.playbooks),
        "runs": [{"run_id": run.run_id, "exit_code": run.exit_code} for run in line.runs],
        "shown": [_claim_document(claim) for claim in line.shown],
        "not_shown": [_claim_document(claim) for claim in line.not_shown],
        "left": [left.document() for left in line.left],
        "downtime_seconds": line.downtime,
        "production_as_before": line.as_before,
    }


def _claim_document(claim: Claim) -> dict[str, Any]:
    newest = claim.newest
    return {
        "probe": newest.probe,
        "claim": newest.claim,
        "verdict": str(newest.verdict),
        "attempts": claim.attempts,
        "passed": claim.passed,
        "sampled": newest.sampled,
        "sample_count": newest.sample_count,
        "termination": newest.termination.reason,
        "reasons": list(newest.reasons),
        "not_proven": list(newest.not_proven),
    }
