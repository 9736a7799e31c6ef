"""What one probe writes down while it runs, and how its reasons become one verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from stager.client.record import Completion, Ended
from stager.models.base import Model
from stager.models.evidence import (
    ConfiguredField,
    Finding,
    Measurement,
    StreamEnd,
    Termination,
    Vantage,
    Verdict,
)
from stager.probes.base import ProbeResult
from stager.probes.target import Target

_BROKEN = frozenset({Ended.DISCONNECTED, Ended.LIMIT, Ended.TIMEOUT, Ended.MALFORMED})


class Logbook:
    """Collects measurements, stream ends, raw samples and reasons for one claim.

    Three kinds of reason: ``fail`` (the claim is refuted), ``fault`` (the experiment broke), ``doubt`` (it could
    not tell). The gravest decides: failed, error, inconclusive; without any, passed.
    """

    def __init__(self, claim: str, parameters: Model) -> None:
        self.claim = claim
        self.parameters = parameters
        self.begun = datetime.now(UTC)
        self.measurements: dict[str, Measurement] = {}
        self.streams: list[StreamEnd] = []
        self.raw: dict[str, Any] = {}
        self._reasons: dict[Verdict, list[str]] = {}

    def measure(self, name: str, value: float | bool | str | None, unit: str) -> None:
        """Note one number with its unit; floats are kept to six significant digits."""
        self.measurements[name] = Measurement(
            value=float(f"{value:.6g}") if isinstance(value, float) else value, unit=unit
        )

    def fail(self, reason: str) -> None:
        """The claim is refuted."""
        self._add(Verdict.FAILED, reason)

    def fault(self, reason: str) -> None:
        """The experiment broke, so it says nothing about the claim."""
        self._add(Verdict.ERROR, reason)

    def doubt(self, reason: str) -> None:
        """The experiment came to its end and could not tell."""
        self._add(Verdict.INCONCLUSIVE, reason)

    def _add(self, verdict: Verdict, reason: str) -> None:
        reasons = self._reasons.setdefault(verdict, [])
        if reason not in reasons:
            reasons.append(reason)

    def ended(self, completion: Completion) -> None:
        """Note how one stream ended, as the server said it."""
        self.streams.append(
            StreamEnd(stream=len(self.streams), finish_reason=completion.finish_reason, error=completion.error)
        )

    def usable(self, completion: Completion, what: str) -> bool:
        """Note a stream's end and any break of it; return whether it may be judged at all.

        A broken or unreadable answer is a fault of the experiment; an error the server itself reports is
        a refutation, for every request of a probe is a legal one.
        """
        self.ended(completion)
        if fault := broken(completion):
            self.fault(f"{what}: {fault}")
            return False
        if completion.error is not None:
            self.fail(f"{what}: the server answered with an error: {completion.error}")
            return False
        return True

    @property
    def verdict(self) -> Verdict:
        """What the reasons so far come to."""
        for verdict in (Verdict.FAILED, Verdict.ERROR, Verdict.INCONCLUSIVE):
            if verdict in self._reasons:
                return verdict
        return Verdict.PASSED

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted already, so that more trials would only cost time."""
        return Verdict.FAILED in self._reasons

    def reasons(self) -> tuple[str, ...]:
        """All reasons, the deciding kind first."""
        order = (Verdict.FAILED, Verdict.ERROR, Verdict.INCONCLUSIVE)
        return tuple(reason for verdict in order for reason in self._reasons.get(verdict, ()))

    def result(
        self,
        target: Target,
        *,
        sampled: str,
        sample_count: int,
        ended_because: str,
        not_proven: Iterable[str],
        configured: Iterable[ConfiguredField] = (),
        vantage: Vantage | None = None,
    ) -> ProbeResult:
        """Close the book: the finding, its vantage, its raw samples."""
        if sample_count == 0 and self.verdict is Verdict.PASSED:
            self.doubt("nothing was sampled")
        finding = Finding(
            claim=self.claim,
            parameters=self.parameters.document(),
            started_at=self.begun,
            ended_at=datetime.now(UTC),
            sampled=sampled,
            sample_count=sample_count,
            termination=Termination(reason=ended_because, streams=tuple(self.streams)),
            measurements=self.measurements,
            configured=tuple(configured),
            verdict=self.verdict,
            reasons=self.reasons(),
            not_proven=tuple(not_proven),
        )
        raw = json.dumps(self.raw, ensure_ascii=False, default=str).encode()
        return ProbeResult(finding, vantage or target.vantage(), raw)


def broken(completion: Completion) -> str | None:
    """Say how the answer broke on its way, or None where it can be read."""
    if completion.ended in _BROKEN:
        return f"{completion.ended.value}: {completion.error}"
    if completion.status is None and completion.error is not None:
        return completion.error
    return completion.unreadable[0] if completion.unreadable else None


def sketch(completion: Completion, *, times: bool = True) -> dict[str, Any]:
    """Return what is kept of one completion in the raw samples: ends, text, and times relative to the sending (ns)."""
    sent = completion.sent_ns or completion.started_ns
    kept: dict[str, Any] = {
        "path": completion.path,
        "ended": completion.ended.value,
        "status": completion.status,
        "finish_reasons": completion.finish_reasons,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "content": completion.content[:4000],
        "tool_calls": [[c.id, c.name, c.arguments, c.arguments_type] for c in completion.tool_calls],
        "error": completion.error,
        "faults": completion.faults,
        "sent_ns": sent,
        "ended_after_ns": completion.ended_ns - sent,
    }
    if times:
        kept["delta_ns"] = [delta.at_ns - sent for delta in completion.deltas]
    return kept
