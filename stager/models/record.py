"""The record of one run: what was done, what was found, what became of production."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from stager.models.answer import GateAnswer
from stager.models.base import Model
from stager.models.claimed import AttachedAudit
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, Finding, HostFacts, RawSamples, Sha256, Text


class Step(Model):
    """One step of a run: how long it took, and whether it changed the host."""

    name: Text
    seconds: Annotated[float, Field(ge=0)]
    changed: bool
    note: str = ""


class Left(Model):
    """Something that was left for a person: what it is, where, and why it was not touched."""

    what: Text
    path: str
    why: Text


class Cleanup(Model):
    """How the host was left. ``downtime_seconds``: how long production did not answer; None if it never went down."""

    candidate_stopped: bool
    restored: tuple[Text, ...]
    left: tuple[Left, ...]
    markers_cleared: tuple[Text, ...]
    production_as_before: bool
    downtime_seconds: float | None


class Baseline(Model):
    """The same experiment on the production that was there before; it belongs to no build and no gate reads it.

    ``raw`` names the raw samples beside the record, where they were kept.
    """

    service: Text
    probe: Text
    finding: Finding
    raw: RawSamples | None = None


class RunRecord(Model):
    """One run as `show`, `report`, `compare` and `worklog` read it.

    ``context`` is what the context arithmetic was done on at staging; ``verify`` writes it into the evidence.
    ``claimed_by_source`` holds audits that were attached to the run; they are claims, and no gate reads them.
    """

    run_id: Text
    build_id: Sha256 | None
    host: HostFacts
    playbook: Text
    started_at: datetime
    ended_at: datetime | None
    steps: tuple[Step, ...]
    evidence: tuple[Evidence, ...]
    cleanup: Cleanup | None
    exit_code: int | None
    baseline: tuple[Baseline, ...] = ()
    gate: GateAnswer | None = None
    notes: tuple[Text, ...] = ()
    context: ContextFacts | None = None
    claimed_by_source: tuple[AttachedAudit, ...] = ()
