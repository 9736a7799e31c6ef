"""The gate: a pure function from evidence and policy to a verdict with every reason.

One rule carries it: *anything may refuse; only evidence that meets every condition may pass.* So an attempt that did
not pass counts whatever its age, suite or host, and a newer one outranks an older pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from stager.evidence import sentences
from stager.evidence.conditions import objections
from stager.models.answer import GateAnswer, Used
from stager.models.base import digest
from stager.models.evidence import PRECEDENCE, Evidence, Verdict
from stager.models.exhibit import Exhibit, Unreadable
from stager.models.policy import Policy, RequiredClaim

#: What production is called when stager did not stage it; it equals no build.
UNKNOWN_BUILD = "unknown"


@dataclass(frozen=True)
class _Standing:
    """How one required claim stands for one build: the attempts that count, or why none does."""

    claim: RequiredClaim
    counting: tuple[Exhibit, ...]
    against: tuple[str, ...]
    notes: tuple[str, ...] = ()


def judge(
    build_id: str,
    exhibits: Sequence[Exhibit],
    policy: Policy,
    *,
    suite: str,
    now: datetime,
    incumbent: str | None = None,
    troubles: Sequence[Unreadable] = (),
) -> GateAnswer:
    """Decide whether a build may be promoted.

    Args:
        build_id: the build in question, in full.
        exhibits: all evidence there is, of any build; other builds' only serves to say what is missing here.
        policy: what must have been shown.
        suite: the digest of the probe suite in use now; what ``suite: current`` in a policy means.
        now: an aware time.
        incumbent: the build in production now; None or ``unknown`` where it is not known.
        troubles: places in the store that could not be relied on.
    """
    wanted_suite = suite if policy.suite == "current" else policy.suite
    own = sorted((item for item in exhibits if item.evidence.build_id == build_id), key=_by_time)
    others = [item for item in exhibits if item.evidence.build_id != build_id]
    damaged = {trouble.name for trouble in troubles if trouble.build_id == build_id}
    standings = [
        _standing(claim, [item for item in own if item.name == claim.name], policy, wanted_suite, now)
        # Of what cannot be read nobody can say that it was never shown; that it cannot be read is said below.
        or _Standing(claim, (), () if claim.name in damaged else (sentences.never_shown(claim, others, build_id),))
        for claim in policy.claims
    ]
    chosen, apart = _choose(standings, policy)
    required = {claim.name for claim in policy.claims}
    reasons = [
        *([sentences.is_production(build_id)] if incumbent == build_id and build_id != UNKNOWN_BUILD else []),
        *(reason for standing in standings for reason in standing.against),
        *apart,
        *(sentences.not_reliable(it) for it in troubles if it.build_id == build_id and it.name in required),
    ]
    return GateAnswer(
        build_id=build_id,
        verdict="refuse" if reasons else "promote",
        reasons=tuple(reasons),
        evidence_used=tuple(_used(exhibit) for exhibit in chosen),
        missing=tuple(standing.claim.name for standing in standings if not standing.counting),
        notes=tuple(note for standing in standings for note in standing.notes),
        policy=policy.name,
        policy_sha256=digest(policy.document()),
        suite_digest=wanted_suite,
        judged_at=now,
    )


def _standing(
    claim: RequiredClaim, attempts: Sequence[Exhibit], policy: Policy, suite: str, now: datetime
) -> _Standing | None:
    """Read one claim's attempts, oldest first; None where there is none."""
    if not attempts:
        return None
    unpassed = [item.evidence for item in attempts if item.evidence.verdict is not Verdict.PASSED]
    notes = tuple(sentences.tolerated(claim, evidence, now) for evidence in unpassed)
    against = tuple(_too_many(claim, unpassed, policy))
    newest = attempts[-1].evidence
    if newest.verdict is not Verdict.PASSED:
        return _Standing(claim, (), (sentences.outranked(claim, attempts, now), *against), notes)
    candidates = attempts[_after_the_last_unpassed(attempts) :]
    judged = [(item, objections(item, claim, policy, suite, now)) for item in candidates]
    counting = tuple(item for item, doubts in judged if not doubts)
    if not counting:
        weak = (sentences.does_not_count(claim, newest, doubt) for doubt in judged[-1][1])
        return _Standing(claim, (), (*weak, *against), notes)
    unused = (sentences.not_used(claim, item.evidence, doubts) for item, doubts in judged if doubts)
    return _Standing(claim, counting, against, (*notes, *unused))


def _by_time(exhibit: Exhibit) -> tuple[datetime, int, int, str, tuple[str, ...], tuple[str, ...]]:
    """Oldest first; of two that ended at the same moment the graver verdict is the newer. The rest breaks ties."""
    evidence = exhibit.evidence
    gravity = -PRECEDENCE.index(evidence.verdict)
    return (evidence.ended_at, gravity, evidence.attempt, exhibit.sha256, exhibit.faults, exhibit.signed_by)


def _after_the_last_unpassed(attempts: Sequence[Exhibit]) -> int:
    places = [i for i, exhibit in enumerate(attempts) if exhibit.evidence.verdict is not Verdict.PASSED]
    return places[-1] + 1 if places else 0


def _too_many(claim: RequiredClaim, unpassed: Sequence[Evidence], policy: Policy) -> Iterable[str]:
    for verdict in PRECEDENCE:
        attempts = [evidence for evidence in unpassed if evidence.verdict is verdict]
        if attempts and len(attempts) > policy.tolerance(claim).allows(verdict):
            yield sentences.too_many(claim, verdict, attempts, policy.tolerance(claim).allows(verdict))


def _choose(standings: Sequence[_Standing], policy: Policy) -> tuple[list[Exhibit], list[str]]:
    """Choose the attempts the answer rests on, and say which groups cannot be had from one launch."""
    chosen: dict[str, Exhibit] = {}
    reasons: list[str] = []
    by_name = {standing.claim.name: standing for standing in standings}
    grouped = {name for group in policy.together for name in group}
    for standing in standings:
        if standing.claim.name not in grouped and standing.counting:
            chosen[standing.counting[-1].sha256] = standing.counting[-1]
    for group in policy.together:
        members = [by_name[name] for name in group]
        if not all(member.counting for member in members):
            continue  # what is missing has been said already
        common = set.intersection(*({_launch(item) for item in member.counting} for member in members))
        if not common:
            runs = [member.counting[-1].evidence.run_id for member in members]
            reasons.append(sentences.apart([member.claim for member in members], runs))
            continue
        newest = max((item for item in members[0].counting if _launch(item) in common), key=_by_time)
        for member in members:
            exhibit = next(item for item in reversed(member.counting) if _launch(item) == _launch(newest))
            chosen[exhibit.sha256] = exhibit
    return list(chosen.values()), reasons


def _launch(exhibit: Exhibit) -> tuple[str, str, str]:
    """One launch of a candidate: the run, the start, and the host's boot it lived in."""
    evidence = exhibit.evidence
    return (evidence.run_id, evidence.launch, evidence.host.boot_id)


def _used(exhibit: Exhibit) -> Used:
    evidence = exhibit.evidence
    return Used(
        probe=evidence.probe,
        claim=evidence.claim,
        attempt=evidence.attempt,
        run_id=evidence.run_id,
        verdict=evidence.verdict,
        sample_count=evidence.sample_count,
        ended_at=evidence.ended_at,
        sha256=exhibit.sha256,
        signed_by=exhibit.signed_by,
    )
