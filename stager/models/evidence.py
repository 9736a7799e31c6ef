"""Evidence: what a probe found, with what it sampled, how many, why it ended and what it did not prove.

A ``Finding`` is a probe's own part; ``Evidence`` adds whose it is (build, run, host, attempt). A
document that lacks any of the required parts does not load: a number without them is decoration.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from stager.models.base import Model
from stager.models.context_facts import ContextFacts

SCHEMA: Final = "stager.evidence/1"

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Verdict(StrEnum):
    """Five different things. Only ``passed`` passes."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    ABORTED = "aborted"


#: Fixed precedence when several verdicts are read as one (aborted is judged apart and never passes).
PRECEDENCE: tuple[Verdict, ...] = (
    Verdict.FAILED,
    Verdict.ERROR,
    Verdict.ABORTED,
    Verdict.INCONCLUSIVE,
    Verdict.PASSED,
)


class Measurement(Model):
    """One measured number with its unit (``count``, ``s``, ``ms``, ``tokens/s``, ``ratio``, ...)."""

    value: float | int | bool | str | None
    unit: Text


class StreamEnd(Model):
    """How one stream ended, as the server said it; ``finish_reason`` is None where it said nothing."""

    stream: int
    finish_reason: str | None
    error: str | None = None


class Termination(Model):
    """Why sampling ended (a sentence or a fixed word), and per stream its finish reason."""

    reason: Text
    streams: tuple[StreamEnd, ...] = ()


class ConfiguredField(Model):
    """A capacity field the engine reports: a claim, never evidence. ``source`` says what sets it, where known."""

    name: Text
    value: Any
    endpoint: Text
    source: str = ""


class Vantage(Model):
    """Where the client stood, and how good its clock and path were."""

    client: Literal["controller", "host"]
    path: Literal["direct", "ssh-forward"]
    path_latency_ms: float | None
    client_jitter_ms: float | None
    calibration: dict[str, Any] = Field(default_factory=dict)


class RawSamples(Model):
    """The raw samples' file (relative to the evidence document) and its SHA-256."""

    file: Text
    sha256: Sha256


class Finding(Model):
    """What one probe says about one claim after one attempt."""

    claim: Text
    parameters: dict[str, Any]
    started_at: datetime
    ended_at: datetime
    sampled: Text
    sample_count: Annotated[int, Field(ge=0)]
    termination: Termination
    measurements: dict[str, Measurement]
    configured: tuple[ConfiguredField, ...]
    verdict: Verdict
    reasons: tuple[Text, ...]
    not_proven: Annotated[tuple[Text, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _zero_samples_never_pass(self) -> Self:
        if self.verdict is Verdict.PASSED and self.sample_count == 0:
            raise ValueError("a verdict of passed needs at least one sample")
        if self.verdict is not Verdict.PASSED and not self.reasons:
            raise ValueError(f"a verdict of {self.verdict} needs its reasons")
        if self.started_at.tzinfo is None or self.ended_at.tzinfo is None:
            raise ValueError("times need a time zone")
        return self


class HostFacts(Model):
    """Recorded beside the build, never part of its name."""

    address: Text
    kernel: str = ""
    machine: str = ""
    boot_id: str = ""
    gpus: tuple[dict[str, Any], ...] = ()
    driver: str = ""


class Evidence(Finding):
    """One document per probe, claim and attempt.

    ``launch`` names the one start of the candidate it was taken from (an InvocationID, or boot id, pid and start
    time); empty where that is not known. ``context`` holds what was claimed of the cache, and of which card: the gate
    does the arithmetic again; None where the model or the card could not be read at staging.
    """

    schema_: Literal["stager.evidence/1"] = Field(SCHEMA, alias="schema")
    probe: Text
    probe_version: Annotated[int, Field(ge=1)]
    suite_digest: Sha256
    attempt: Annotated[int, Field(ge=1)]
    build_id: Sha256
    run_id: Text
    launch: str = ""
    host: HostFacts
    vantage: Vantage
    context: ContextFacts | None = None
    tainted: str = ""
    raw: RawSamples
