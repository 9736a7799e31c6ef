"""The gate's reasons and notes: each one sentence that a person can act on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from stager.models.evidence import Evidence, Verdict
from stager.models.exhibit import Exhibit, Unreadable
from stager.models.policy import RequiredClaim
from stager.models.words import ago, short

_ENDED = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.ERROR: "could not be measured",
    Verdict.ABORTED: "was aborted",
    Verdict.INCONCLUSIVE: "was inconclusive",
}


def never_shown(claim: RequiredClaim, others: Iterable[Exhibit], build_id: str) -> str:
    """No attempt at all for this build; says so if another build has the proof."""
    elsewhere = [
        exhibit.evidence
        for exhibit in others
        if exhibit.name == claim.name and exhibit.evidence.verdict is Verdict.PASSED
    ]
    what = f"{claim.name} was never shown for build {short(build_id)}"
    if elsewhere:
        newest = max(elsewhere, key=lambda evidence: evidence.ended_at)
        what = (
            f"{claim.name} was shown for build {short(newest.build_id)} (run {newest.run_id}), "
            f"this is {short(build_id)}; a proof belongs to one build"
        )
    return f"{what}: stage it and run `stager verify RUN --probe {claim.probe}`."


def outranked(claim: RequiredClaim, attempts: Sequence[Exhibit], now: datetime) -> str:
    """The newest attempt did not pass, whatever older ones did."""
    newest = attempts[-1].evidence
    older = any(exhibit.evidence.verdict is Verdict.PASSED for exhibit in attempts)
    rank = ", which outranks the older pass" if older else ""
    return (
        f"{claim.name}: the newest attempt ({newest.attempt}, run {newest.run_id}, {ago(newest.ended_at, now)}) "
        f"{_ENDED[newest.verdict]}{rank}: {_joined(newest.reasons)}. {_again(claim, newest)}"
    )


def too_many(claim: RequiredClaim, verdict: Verdict, attempts: Sequence[Evidence], tolerated: int) -> str:
    """More attempts ended this way than the policy tolerates."""
    listed = ", ".join(f"{evidence.attempt} in run {evidence.run_id}" for evidence in attempts)
    return (
        f"{claim.name}: {len(attempts)} of its attempts ended as {verdict} (attempt {listed}), the policy tolerates "
        f"{tolerated}; trying until it is green does not make it green."
    )


def does_not_count(claim: RequiredClaim, evidence: Evidence, doubt: str) -> str:
    """The newest pass does not meet a condition of the policy."""
    return (
        f"{claim.name}: attempt {evidence.attempt} of run {evidence.run_id} passed but does not count: "
        f"{doubt}. {_again(claim, evidence)}"
    )


def tolerated(claim: RequiredClaim, evidence: Evidence, now: datetime) -> str:
    """An attempt that did not pass, listed though the policy may live with it."""
    return (
        f"{claim.name}: attempt {evidence.attempt} (run {evidence.run_id}, {ago(evidence.ended_at, now)}) "
        f"{_ENDED[evidence.verdict]}: {_joined(evidence.reasons)}."
    )


def not_used(claim: RequiredClaim, evidence: Evidence, doubts: Iterable[str]) -> str:
    """A pass beside the one that counts, and why it was passed over."""
    where = f"{claim.name}: attempt {evidence.attempt} (run {evidence.run_id})"
    return f"{where} passed but was not used: {_joined(doubts)}."


def apart(claims: Sequence[RequiredClaim], runs: Sequence[str]) -> str:
    """Claims that have to come from one launch and were shown in different ones."""
    shown = ", ".join(f"{claim.name} in run {run}" for claim, run in zip(claims, runs, strict=True))
    probes = " ".join(f"--probe {probe}" for probe in dict.fromkeys(claim.probe for claim in claims))
    return (
        f"{' and '.join(claim.name for claim in claims)} must come from one launch of one run, and do not: {shown}. "
        f"Stage once and run `stager verify RUN {probes}`."
    )


def not_reliable(trouble: Unreadable) -> str:
    """A damaged or missing document: nobody can say that it was not a failure."""
    return (
        f"{trouble.name}: {trouble.file} cannot be relied on: {trouble.why}. It may have been a failure; "
        "fetch the host's copy with `stager evidence pull ADDRESS`."
    )


def is_production(build_id: str) -> str:
    """The build in question is the one that production runs."""
    return f"Build {short(build_id)} is what production runs already; there is nothing to promote."


def _again(claim: RequiredClaim, evidence: Evidence) -> str:
    return f"Stage build {short(evidence.build_id)} and run `stager verify RUN --probe {claim.probe}`."


def _joined(sentences: Iterable[str]) -> str:
    return "; ".join(sentence.rstrip(". ") for sentence in sentences)
