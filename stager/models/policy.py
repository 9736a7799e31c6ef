"""Policy: what must have been shown, how well, how recently and by whom, before a build may be promoted.

Everything a policy does not name is not required; nothing it names can be waived by the gate.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from stager.models.base import Model
from stager.models.evidence import Sha256, Text, Verdict
from stager.models.quantities import Duration

#: A bound may point at one of the probe's own parameters, e.g. as many streams at once as were started.
Parameter = Annotated[str, StringConstraints(pattern=r"^parameters/[A-Za-z0-9_]+$")]
ClaimName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$")]


class Bound(Model):
    """What one number must satisfy. Every part that is given must hold."""

    at_least: int | float | Parameter | None = None
    at_most: int | float | Parameter | None = None
    equals: bool | int | float | str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.at_least is None and self.at_most is None and self.equals is None:
            raise ValueError("needs at_least, at_most or equals")
        return self


class Tolerance(Model):
    """How many attempts that did not pass may stand beside the pass. They are listed all the same."""

    failed: Annotated[int, Field(ge=0)] = 0
    error: Annotated[int, Field(ge=0)] = 0
    aborted: Annotated[int, Field(ge=0)] = 0
    inconclusive: Annotated[int, Field(ge=0)] = 0

    def allows(self, verdict: Verdict) -> int:
        """Return how many attempts with this verdict are tolerated."""
        return {
            Verdict.FAILED: self.failed,
            Verdict.ERROR: self.error,
            Verdict.ABORTED: self.aborted,
            Verdict.INCONCLUSIVE: self.inconclusive,
        }[verdict]


class RequiredClaim(Model):
    """One claim that must have been shown: the probe, the claim, and how well."""

    probe: Text
    claim: Text
    min_samples: Annotated[int, Field(ge=1)] = 1
    thresholds: dict[str, Bound] = Field(default_factory=dict)
    parameters: dict[str, Bound] = Field(default_factory=dict)
    max_age: Duration | None = None
    tolerate: Tolerance | None = None

    @property
    def name(self) -> str:
        """``probe/claim``, as it is written everywhere."""
        return f"{self.probe}/{self.claim}"


class RequiredHost(Model):
    """Facts of the host that the evidence must come from; shell patterns, empty means any."""

    address: str = ""
    gpu: str = ""
    driver: str = ""
    kernel: str = ""
    machine: str = ""


class Policy(Model):
    """One policy file."""

    stager: Literal[1]
    name: Text
    claims: Annotated[tuple[RequiredClaim, ...], Field(min_length=1)]
    together: tuple[Annotated[tuple[ClaimName, ...], Field(min_length=2)], ...] = ()
    max_age: Duration
    suite: Literal["current"] | Sha256 = "current"
    tolerate: Tolerance = Tolerance()
    host: RequiredHost = RequiredHost()
    signers: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [claim.name for claim in self.claims]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"claims names {', '.join(twice)} more than once")
        strangers = sorted({name for group in self.together for name in group if name not in names})
        if strangers:
            raise ValueError(f"together names {', '.join(strangers)}, which claims does not require")
        return self

    def age_limit(self, claim: RequiredClaim) -> float:
        """Return the oldest an attempt may be for this claim, in seconds."""
        return self.max_age if claim.max_age is None else claim.max_age

    def tolerance(self, claim: RequiredClaim) -> Tolerance:
        """Return what is tolerated for this claim."""
        return self.tolerate if claim.tolerate is None else claim.tolerate
