"""What keeps one passed attempt from counting under a policy: pure checks, one sentence for each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from stager.context.recorded import reasons_against
from stager.models.evidence import Evidence, Measurement
from stager.models.exhibit import Exhibit
from stager.models.policy import Bound, Policy, RequiredClaim
from stager.models.words import ago, short, span

#: Clocks of controller and reader may differ by so much before a time in the future is a reason.
CLOCK_SKEW = timedelta(minutes=5)


def objections(exhibit: Exhibit, claim: RequiredClaim, policy: Policy, suite: str, now: datetime) -> list[str]:
    """Return everything that keeps this passed attempt from counting; nothing if it counts."""
    evidence = exhibit.evidence
    return [
        *exhibit.faults,
        *_of_suite(evidence, suite),
        *_of_age(evidence, policy.age_limit(claim), now),
        *_of_samples(evidence, claim.min_samples),
        *_of_thresholds(evidence, claim.thresholds),
        *_of_parameters(evidence, claim.parameters),
        *_of_host(evidence, policy),
        *_of_context(evidence),
        *_of_signers(exhibit, policy.signers),
    ]


def _of_suite(evidence: Evidence, suite: str) -> Iterator[str]:
    if evidence.suite_digest != suite:
        yield f"it was taken by probe suite {short(evidence.suite_digest)}, the policy wants {short(suite)}"


def _of_age(evidence: Evidence, limit: float, now: datetime) -> Iterator[str]:
    if evidence.ended_at > now + CLOCK_SKEW:
        yield f"it says it ended at {evidence.ended_at.isoformat()}, which is in the future: some clock is wrong"
    elif (now - evidence.ended_at).total_seconds() > limit:
        yield f"it is from {ago(evidence.ended_at, now)}, the policy allows {span(limit)}"


def _of_samples(evidence: Evidence, wanted: int) -> Iterator[str]:
    if evidence.sample_count < wanted:
        yield f"it rests on {evidence.sample_count} samples ({evidence.sampled}), the policy wants {wanted}"


def _of_thresholds(evidence: Evidence, thresholds: dict[str, Bound]) -> Iterator[str]:
    for name, bound in thresholds.items():
        found = evidence.measurements.get(name)
        if found is None:
            yield f"it has no measurement called {name}, which the policy wants {_words(bound, evidence)}"
        elif trouble := _breach(found.value, bound, evidence):
            yield f"{name} is {_shown(found)}, the policy wants it {trouble}"


def _of_parameters(evidence: Evidence, parameters: dict[str, Bound]) -> Iterator[str]:
    for name, bound in parameters.items():
        if name not in evidence.parameters:
            yield f"it was run without a parameter {name}, which the policy wants {_words(bound, evidence)}"
        elif trouble := _breach(evidence.parameters[name], bound, evidence):
            yield f"it was run with {name} = {evidence.parameters[name]}, the policy wants it {trouble}"


def _of_host(evidence: Evidence, policy: Policy) -> Iterator[str]:
    host, wanted = evidence.host, policy.host
    for name in ("address", "driver", "kernel", "machine"):
        pattern, found = getattr(wanted, name), getattr(host, name)
        if pattern and not fnmatchcase(found, pattern):
            yield f"it comes from a host with {name} {found or 'unknown'}, the policy wants {pattern}"
    names = [str(gpu.get("name", "")) for gpu in host.gpus]
    if wanted.gpu and not any(fnmatchcase(name, wanted.gpu) for name in names):
        yield f"it comes from a host with {', '.join(names) or 'no GPU'}, the policy wants a GPU named {wanted.gpu}"


def _of_context(evidence: Evidence) -> Iterator[str]:
    """What was claimed has to be possible on the card it was claimed of; nothing is said where that is not recorded."""
    for reason in reasons_against(evidence.context) if evidence.context else ():
        yield (
            f"what its playbook claims (candidate/claims) cannot hold together: {reason.removesuffix('.')}; correct "
            "the claims, the launch or the card's limit first"
        )


def _of_signers(exhibit: Exhibit, signers: tuple[str, ...]) -> Iterator[str]:
    if signers and not exhibit.signed_by:
        yield "no signer the policy names has signed it: run `stager evidence export RUN --key KEY` with such a key"


def _breach(value: object, bound: Bound, evidence: Evidence) -> str:
    """Return in words the part of a bound that a value does not satisfy; nothing if it satisfies all."""
    if bound.equals is not None and not _same(value, bound.equals):
        return f"to be {_literal(bound.equals)}"
    for limit, word in ((bound.at_least, "at least"), (bound.at_most, "at most")):
        if limit is None:
            continue
        number = _resolve(limit, evidence)
        if number is None:
            return f"{word} {limit}, a parameter the attempt does not have as a number"
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"{word} {number:g}"
        holds = value >= number if word == "at least" else value <= number  # NaN satisfies neither
        if not holds:
            return f"{word} {number:g}"
    return ""


def _same(value: object, wanted: object) -> bool:
    """4 and 4.0 are the same number; true and 1 are not the same thing."""
    both_numbers = _is_number(value) and _is_number(wanted)
    return value == wanted and (both_numbers or type(value) is type(wanted))


def _resolve(limit: float | str, evidence: Evidence) -> float | None:
    if not isinstance(limit, str):
        return limit
    value = evidence.parameters.get(limit.removeprefix("parameters/"))
    return value if _is_number(value) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(bound: Bound, evidence: Evidence) -> str:
    return _breach(None, bound, evidence)


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(found: Measurement) -> str:
    value = _literal(found.value) if found.value is not None else "not measured"
    return value if found.unit in {"count", "bool", "ratio", "text"} or found.value is None else f"{value} {found.unit}"
