"""What is verified, from what staging or the host's journal knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stager.errors import InvalidFile, StagerError, UsageError
from stager.models.evidence import HostFacts
from stager.models.playbook import Playbook
from stager.models.record import RunRecord
from stager.models.source import Source
from stager.probes.catalog import PROBES
from stager.probes.target import Claims
from stager.run.verify import Subject
from stager.staging.engine import engine_of
from stager.staging.stage import Staged


def subject_of(playbook: Playbook, staged: Staged) -> Subject:
    """The candidate that was just staged."""
    subject = _subject(playbook, staged.run_id, staged.build.build_id, staged.launch, staged.host, staged.spec)
    return replace(subject, context=staged.context)


def subject_attached(attached: Mapping[str, Any], record: RunRecord) -> tuple[Playbook, Subject]:
    """The candidate of a run that was staged before: the playbook is the journal's own, not today's file.

    Raises:
        UsageError: the run has no candidate to verify.
    """
    run_id, spec = str(attached["run_id"]), attached["spec"]
    if not attached["launched"] or not spec.get("candidate"):
        raise UsageError(f"Run {run_id} has no candidate that runs; there is nothing to verify.", next="stager status")
    playbook = Source.parse(spec["playbook"], f"the playbook of run {run_id}").part(Playbook, ())
    build_id, launch = attached["build"]["build_id"], str(attached["launch"])
    return playbook, replace(_subject(playbook, run_id, build_id, launch, record.host, spec), context=record.context)


def _subject(
    playbook: Playbook, run_id: str, build_id: str, launch: str, host: HostFacts, spec: Mapping[str, Any]
) -> Subject:
    candidate = playbook.candidate
    return Subject(
        run_id=run_id,
        build_id=build_id,
        launch=launch,
        host=host,
        port=int(spec["candidate"]["port"]),
        engine=engine_of(candidate.engine),
        model=candidate.model or "",
        claims=Claims(slots=candidate.claims.slots, context=candidate.claims.context),
    )


def wanted_probes(playbook: Playbook, only: Sequence[str] = ()) -> dict[str, Mapping[str, Any]]:
    """The probes to run, with the playbook's parameters; ``only`` may name some that it does not.

    Raises:
        UsageError: there is no such probe.
        InvalidFile: the playbook names one that does not exist, or no probe at all is asked for.
    """
    names = tuple(only) or tuple(playbook.probes)
    refuse_unknown(names, UsageError if only else InvalidFile)
    if not names:
        raise InvalidFile(f"The playbook names no probes (probes: ...); there are: {', '.join(sorted(PROBES))}.")
    return {name: playbook.probes.get(name, {}) for name in names}


def refuse_unknown(names: Iterable[str], error: type[StagerError] = UsageError) -> None:
    """Raise an error for the first name that is no probe's."""
    for name in names:
        if name not in PROBES:
            raise error(
                f"There is no probe {name}; there are: {', '.join(sorted(PROBES))}.", next="stager verify --help"
            )
