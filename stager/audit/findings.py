"""What an audit finds: one frozen model per kind of finding, each with file, line and why.

A finding says what the source says. It is a claim about behaviour, never evidence of it.
"""

from __future__ import annotations

from typing import Literal

from stager.models.base import Model
from stager.models.claimed import SourceClaim

FieldKind = Literal["constant", "configured", "computed", "measured"]
How = Literal["default", "flag", "clamp", "config", "environment", "constant", "call", "origin", "semaphore"]
Reading = Literal["syntax", "text"]


class Finding(Model):
    """Something the source says, and where. ``accepted`` holds the reason of an inline comment that accepts it."""

    name: str
    file: str
    line: int
    why: str
    by: Reading = "syntax"
    accepted: str = ""

    @property
    def kind_name(self) -> str:
        """The word an accept comment uses for this kind of finding."""
        return KIND_NAMES[type(self)]

    @property
    def where(self) -> str:
        """The place as ``file:line``."""
        return f"{self.file}:{self.line}"

    @property
    def says(self) -> str:
        """The finding in one sentence."""
        return self.why

    def claim(self) -> SourceClaim:
        """Return the finding as a claim."""
        return SourceClaim(
            what=self.kind_name, name=self.name, where=self.where, says=self.says, by=self.by, accepted=self.accepted
        )


class Place(Model):
    """A second place that belongs to a finding."""

    name: str
    file: str
    line: int


class Serialiser(Finding):
    """Something that lets one generation run at a time; ``around`` is the call inside that makes it one."""

    kind: Literal["lock", "semaphore", "executor", "queue", "blocking-call", "interrupt-rule", "middleware", "gate"]
    held_at: Place | None
    around: Place | None


class BatchDefault(Finding):
    """One place that sets or narrows how many sequences run together.

    ``limit`` names the chain, ``order`` the position in which it applies (from 1), ``value`` is None where reading
    alone does not tell it. ``replaced`` marks a default every caller found passes over.
    """

    limit: str
    order: int
    how: How
    text: str
    value: float | int | None
    replaced: bool = False
    wins: bool = False

    @property
    def says(self) -> str:
        """The place's text, its value, and whether it is the one that decides."""
        value = "value not told" if self.value is None else f"{self.value}, wins" if self.wins else f"{self.value}"
        return f"{self.limit}, {self.order}: {self.text} ({value})"


class Field(Finding):
    """A value an endpoint returns; ``file`` and ``line`` are what sets it, ``returned_at`` is the answer's own line."""

    endpoint: str
    kind: FieldKind
    settled: bool
    returned_at: Place
    can_disagree: str

    @property
    def says(self) -> str:
        """What sets it, and whether it can disagree with reality."""
        return f"{self.kind}; can it disagree with reality? {self.can_disagree}"

    def claim(self) -> SourceClaim:
        """Return the finding as a claim about the endpoint that answers it."""
        return super().claim().model_copy(update={"endpoint": self.endpoint})


class DeadKey(Finding):
    """A configuration key that no source reads; ``file`` and ``line`` are in the configuration file."""

    key: str
    near: tuple[Place, ...]


class UnusedFlag(Finding):
    """A command-line option that is parsed and never used."""


class DeadMetric(Finding):
    """A metric that is published and never set, or only ever fed nothing."""


class DeadWriteBack(Finding):
    """A setting that is written and that nothing reads afterwards, or read where nothing ever writes it."""


class Acceptance(Model):
    """An accept comment that accepts nothing: ``problem`` says why."""

    file: str
    line: int
    text: str
    problem: str


class Unread(Model):
    """What was not read, and why."""

    path: str
    why: str


class Summary(Model):
    """How much was read, and what was not."""

    python_files: int
    python_lines: int
    text_files: int
    config_files: int
    accepted: int
    unread: tuple[Unread, ...]
    limits: tuple[str, ...]


class Audit(Model):
    """Everything one audit found."""

    paths: tuple[str, ...]
    serialisers: tuple[Serialiser, ...]
    batch_defaults: tuple[BatchDefault, ...]
    fields: tuple[Field, ...]
    dead_keys: tuple[DeadKey, ...]
    unused_flags: tuple[UnusedFlag, ...]
    dead_metrics: tuple[DeadMetric, ...]
    dead_write_backs: tuple[DeadWriteBack, ...]
    next_steps: tuple[str, ...]
    void_acceptances: tuple[Acceptance, ...]
    summary: Summary

    def findings(self) -> tuple[Finding, ...]:
        """Return every finding that an accept comment can name."""
        return (
            *self.serialisers,
            *self.batch_defaults,
            *self.fields,
            *self.dead_keys,
            *self.unused_flags,
            *self.dead_metrics,
            *self.dead_write_backs,
        )

    def claims(self) -> tuple[SourceClaim, ...]:
        """Return every finding in the form that is kept beside a run's evidence: claims, never proof."""
        return tuple(finding.claim() for finding in self.findings())


KIND_NAMES: dict[type[Finding], str] = {
    Serialiser: "serialiser",
    BatchDefault: "batch-default",
    Field: "field",
    DeadKey: "dead-key",
    UnusedFlag: "unused-flag",
    DeadMetric: "dead-metric",
    DeadWriteBack: "dead-write-back",
}
