"""What a probe is, and the runner that bounds it in time and turns every outcome into evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

from stager.errors import Stopped
from stager.models.base import Model
from stager.models.evidence import Finding, Termination, Vantage, Verdict
from stager.probes.target import Target

#: Seconds a probe gets to close its connections after it was told to stop.
STOP_GRACE = 5.0

P = TypeVar("P", bound=Model)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One finding, where the client stood for it, and the raw samples it was drawn from (bytes, usually JSON)."""

    finding: Finding
    vantage: Vantage
    raw: bytes


class Probe(Protocol[P]):
    """One experiment. A probe is a value: it holds no state between runs."""

    @property
    def name(self) -> str:
        """As in the playbook's ``probes`` section."""

    @property
    def version(self) -> int:
        """Raised whenever what it does or how it judges changes."""

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims it answers, one finding each; all of them, unless it is ``Selective``."""

    @property
    def parameters(self) -> type[P]:
        """The closed model of its parameters."""

    @property
    def thresholds(self) -> Mapping[str, Any]:
        """Every number its verdicts depend on, by name; part of the suite's digest."""

    def time_limit(self, parameters: P) -> float:
        """Seconds after which it is stopped, whatever it is doing."""

    async def run(self, target: Target, parameters: P) -> tuple[ProbeResult, ...]:
        """Do the experiment and judge it: one result per claim."""


@runtime_checkable
class Selective(Protocol):
    """A probe whose parameters choose among its claims."""

    def asked(self, parameters: Model) -> tuple[str, ...]:
        """The claims that get a finding under these parameters."""


async def run_probe(probe: Probe[P], target: Target, parameters: P) -> tuple[ProbeResult, ...]:
    """Run a probe within its own time limit; something comes back for each claim asked for, whatever happens.

    An exception or the time limit gives ``error`` findings. If this task is cancelled, ``aborted`` findings
    are returned and the task's own cancellation count (``Task.cancelling()``) is left for the caller to act on.

    Raises:
        Stopped: a signal ended stager while the probe's own code ran.
    """
    begun = datetime.now(UTC)
    limit = probe.time_limit(parameters)
    claims = probe.asked(parameters) if isinstance(probe, Selective) else probe.claims
    work = asyncio.ensure_future(probe.run(target, parameters))

    def instead(verdict: Verdict, reason: str, termination: str) -> tuple[ProbeResult, ...]:
        return tuple(
            ProbeResult(_unfinished(claim, parameters, begun, verdict, reason, termination), target.vantage(), b"{}")
            for claim in claims
        )

    try:
        await asyncio.wait({work}, timeout=limit)
    except asyncio.CancelledError:
        await _stop(work)
        return instead(Verdict.ABORTED, "the probe was cancelled before it had its answer", "cancelled")
    if not work.done():
        await _stop(work)
        return instead(Verdict.ERROR, f"the probe did not finish within its time limit of {limit:g} s", "time limit")
    if work.cancelled():
        return instead(Verdict.ABORTED, "the probe cancelled itself", "cancelled")
    if (error := work.exception()) is not None:
        if stopped := _stopped(error):  # a signal's own exception came up inside the probe: no word on the engine
            raise stopped
        if not isinstance(error, Exception):
            raise error
        return instead(Verdict.ERROR, f"the probe broke: {_words(error)}", "an exception in the probe")
    return work.result()


def _stopped(error: BaseException) -> Stopped | None:
    """The signal that ended stager, also where a task group wrapped it; None for any other exception."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _stopped(inner))), None)
    return error if isinstance(error, Stopped) else None


async def _stop(work: asyncio.Future[Any]) -> None:
    """Cancel a probe and wait a bounded time until it has let go."""
    work.cancel()
    await asyncio.wait({work}, timeout=STOP_GRACE)
    if work.done() and not work.cancelled():
        work.exception()  # it was asked to stop; what it died of meanwhile is no news


def _unfinished(
    claim: str, parameters: Model, begun: datetime, verdict: Verdict, reason: str, termination: str
) -> Finding:
    return Finding(
        claim=claim,
        parameters=parameters.document(),
        started_at=begun,
        ended_at=datetime.now(UTC),
        sampled="nothing that counts: the probe did not finish",
        sample_count=0,
        termination=Termination(reason=termination),
        measurements={},
        configured=(),
        verdict=verdict,
        reasons=(reason,),
        not_proven=("anything: the experiment did not come to its end",),
    )


def _words(error: BaseException) -> str:
    """An exception in words; of a group, its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:500].rstrip(": ")
