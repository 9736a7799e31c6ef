"""The gate's table: each reason to refuse alone, combinations, and precedence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from stager.evidence.gate import judge
from stager.models.evidence import Measurement
from stager.models.exhibit import Exhibit, Unreadable
from stager.models.policy import Bound, Policy, RequiredHost, Tolerance
from tests.unit.evidence.cases import BUILD, NOW, OLD_SUITE, OTHER, SUITE, claimed, exhibit, policy, required

NEEDLE = ("needle", "retrieval")
BOTH = (required(), required(*NEEDLE))
TOGETHER = policy(claims=BOTH, together=(("overlap/generating", "needle/retrieval"),))
STUBBORN = Tolerance(failed=1, error=1, aborted=1, inconclusive=1)


@dataclass(frozen=True)
class Case:
    """Evidence, a policy, and what the gate must say: some words of each reason, in order."""

    name: str
    exhibits: tuple[Exhibit, ...]
    says: tuple[str, ...] = ()
    policy: Policy = field(default_factory=policy)
    missing: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


def trouble(**changes: str) -> Unreadable:
    """A damaged document of the build in question."""
    parts = {"build_id": BUILD, "probe": "overlap", "claim": "generating", "file": "0001-x.json", "why": "it is torn"}
    return Unreadable(**parts | changes)


def tolerant(**changes: Any) -> Policy:
    """A policy that lives with one attempt of each unhappy end."""
    return policy(tolerate=STUBBORN, **changes)


OVERLAP = ("overlap/generating",)
FAILED, PASSED = exhibit(verdict="failed", ago=3), exhibit(ago=1, attempt=2)

CASES = (
    # what promotes
    Case("one honest pass", (exhibit(),)),
    Case("an incumbent that is unknown", (exhibit(),), extra={"incumbent": "unknown"}),
    Case("an incumbent that is another build", (exhibit(),), extra={"incumbent": OTHER}),
    Case("a tolerated failure before the pass", (FAILED, PASSED), policy=tolerant()),
    Case("a pass that is exactly as old as allowed", (exhibit(ago=24),)),
    Case("exactly as many samples as wanted", (exhibit(sample_count=8),)),
    Case(
        "a value exactly at both bounds",
        (exhibit(),),
        policy=policy(claims=(required(thresholds={"streams_at_once": Bound(at_least=4, at_most=4, equals=4.0)}),)),
    ),
    Case("two claims from one launch", (exhibit(), exhibit(*NEEDLE)), policy=TOGETHER),
    Case(
        "an older launch that had both, where the newest had one",
        (exhibit(ago=5), exhibit(*NEEDLE, ago=5), exhibit(ago=1, run_id="run-b", attempt=2)),
        policy=TOGETHER,
    ),
    Case(
        "a newer pass too weak to count beside one that counts",
        (exhibit(ago=5), exhibit(ago=1, attempt=2, sample_count=2)),
    ),
    Case("the host that was asked for", (exhibit(),), policy=policy(host=RequiredHost(gpu="RTX 30*", driver="580.*"))),
    Case("a signature by an allowed signer", (exhibit(signed_by=("ops",)),), policy=policy(signers=("ops k x",))),
    Case("damage in another build's folder", (exhibit(),), extra={"troubles": [trouble(build_id=OTHER)]}),
    Case("damage under a claim nobody asked for", (exhibit(),), extra={"troubles": [trouble(claim="executing")]}),
    Case(
        "a threshold on one of the probe's own parameters",
        (exhibit(),),
        policy=policy(claims=(required(thresholds={"streams_at_once": Bound(at_least="parameters/streams")}),)),
    ),
    Case(
        "an old suite that the policy pins",
        (exhibit(suite_digest=OLD_SUITE),),
        policy=policy(suite=OLD_SUITE),
    ),
    Case("claims that the card can hold", (exhibit(context=claimed()),)),
    Case("claims that nobody can hold against a card", (exhibit(context=claimed(slots=4, memory=None)),)),
    Case(
        "claims that fitted, and a newer pass whose claims do not",
        (exhibit(ago=5, context=claimed()), exhibit(attempt=2, context=claimed(slots=4))),
    ),
    # nothing to rest on
    Case("no evidence at all", (), ("never shown for build cd34",), missing=OVERLAP),
    Case(
        "evidence of another build only",
        (exhibit(build_id=OTHER),),
        ("was shown for build ab12ab12ab12… (run run-a), this is cd34cd34cd34…",),
        missing=OVERLAP,
    ),
    Case(
        "a failure of another build only",
        (exhibit(build_id=OTHER, verdict="failed"),),
        ("was never shown for build cd34",),
        missing=OVERLAP,
    ),
    Case("another claim of the same probe", (exhibit(claim="executing"),), ("never shown",), missing=OVERLAP),
    Case("the same claim of another probe", (exhibit("soak", "generating"),), ("never shown",), missing=OVERLAP),
    # the newest attempt did not pass
    Case("failed", (exhibit(verdict="failed"),), ("failed: two of four", "1 of its attempts"), missing=OVERLAP),
    Case("inconclusive", (exhibit(verdict="inconclusive"),), ("was inconclusive",), tolerant(), OVERLAP),
    Case("error", (exhibit(verdict="error"),), ("could not be measured",), tolerant(), OVERLAP),
    Case("aborted", (exhibit(verdict="aborted"),), ("was aborted",), tolerant(), OVERLAP),
    Case(
        "zero samples",
        (exhibit(verdict="inconclusive", sample_count=0),),
        ("was inconclusive",),
        tolerant(),
        OVERLAP,
    ),
    Case(
        "a newer failure over an older pass",
        (exhibit(ago=5), exhibit(ago=1, verdict="failed", attempt=2)),
        ("outranks the older pass",),
        tolerant(),
        OVERLAP,
    ),
    Case(
        "a newer failure by another suite",
        (exhibit(ago=5), exhibit(ago=1, verdict="failed", attempt=2, suite_digest=OLD_SUITE)),
        ("outranks the older pass",),
        tolerant(),
        OVERLAP,
    ),
    Case(
        "a newer abort over an older pass",
        (exhibit(ago=5), exhibit(ago=1, verdict="aborted", attempt=2)),
        ("was aborted, which outranks",),
        tolerant(),
        OVERLAP,
    ),
    Case(
        "a failure and a pass that ended at the same moment",
        (exhibit(attempt=2), exhibit(verdict="failed")),
        ("failed, which outranks",),
        tolerant(),
        OVERLAP,
    ),
    Case(
        "a failure whose raw samples are gone still counts",
        (exhibit(ago=5), exhibit(ago=1, verdict="failed", attempt=2, faults=("no raw samples",))),
        ("outranks the older pass",),
        tolerant(),
        OVERLAP,
    ),
    # tried until it was green
    Case("one failure where none is tolerated", (FAILED, PASSED), ("1 of its attempts ended as failed",)),
    Case(
        "two failures where one is tolerated",
        (FAILED, exhibit(verdict="failed", ago=2, attempt=2), exhibit(attempt=3)),
        ("2 of its attempts ended as failed (attempt 1 in run run-a, 2 in run run-a), the policy tolerates 1",),
        tolerant(),
    ),
    Case(
        "an abort is an attempt too",
        (exhibit(verdict="aborted", ago=3), PASSED),
        ("1 of its attempts ended as aborted",),
    ),
    Case(
        "a claim's own tolerance outweighs the policy's",
        (FAILED, PASSED),
        ("ended as failed",),
        tolerant(claims=(required(tolerate=Tolerance()),)),
    ),
    # a pass that does not count
    Case("too old", (exhibit(ago=25),), ("it is from 1 d 1 h ago, the policy allows 1 d",), missing=OVERLAP),
    Case(
        "too old for this claim only",
        (exhibit(ago=3),),
        ("the policy allows 2 h",),
        policy(claims=(required(max_age=7200),)),
        OVERLAP,
    ),
    Case("from the future", (exhibit(ago=-1),), ("is in the future",), missing=OVERLAP),
    Case("another suite", (exhibit(suite_digest=OLD_SUITE),), ("by probe suite 0b0b",), missing=OVERLAP),
    Case("too few samples", (exhibit(sample_count=7),), ("7 samples (the active gauge",), missing=OVERLAP),
    Case(
        "below the threshold",
        (exhibit(measurements={"streams_at_once": Measurement(value=3, unit="count")}),),
        ("streams_at_once is 3, the policy wants it at least 4",),
        missing=OVERLAP,
    ),
    Case(
        "above a ceiling",
        (exhibit(),),
        ("the policy wants it at most 2",),
        policy(claims=(required(thresholds={"streams_at_once": Bound(at_most=2)}),)),
        OVERLAP,
    ),
    Case(
        "a measurement that is not there",
        (exhibit(measurements={}),),
        ("no measurement called streams_at_once",),
        missing=OVERLAP,
    ),
    Case(
        "a measurement that was not taken",
        (exhibit(measurements={"streams_at_once": Measurement(value=None, unit="count")}),),
        ("streams_at_once is not measured",),
        missing=OVERLAP,
    ),
    Case(
        "a number written as text",
        (exhibit(measurements={"streams_at_once": Measurement(value="4", unit="count")}),),
        ("streams_at_once is 4, the policy wants it at least 4",),
        missing=OVERLAP,
    ),
    Case(
        "true where 1 is wanted",
        (exhibit(measurements={"streams_at_once": Measurement(value=True, unit="count")}),),
        ("streams_at_once is true, the policy wants it to be 1",),
        policy(claims=(required(thresholds={"streams_at_once": Bound(equals=1)}),)),
        OVERLAP,
    ),
    Case(
        "true where at least 1 is wanted",
        (exhibit(measurements={"streams_at_once": Measurement(value=True, unit="count")}),),
        ("streams_at_once is true, the policy wants it at least 1",),
        policy(claims=(required(thresholds={"streams_at_once": Bound(at_least=1)}),)),
        OVERLAP,
    ),
    Case(
        "run with a smaller parameter than wanted",
        (exhibit(parameters={"streams": 2}),),
        ("run with streams = 2, the policy wants it at least 4",),
        policy(claims=(required(parameters={"streams": Bound(at_least=4)}),)),
        OVERLAP,
    ),
    Case(
        "run without a parameter that is wanted",
        (exhibit(parameters={}),),
        ("run without a parameter streams",),
        policy(claims=(required(parameters={"streams": Bound(at_least=4)}),)),
        OVERLAP,
    ),
    Case(
        "a threshold on a parameter that is not there",
        (exhibit(parameters={}),),
        ("a parameter the attempt does not have",),
        policy(claims=(required(thresholds={"streams_at_once": Bound(at_least="parameters/streams")}),)),
        OVERLAP,
    ),
    Case(
        "another GPU",
        (exhibit(),),
        ("a host with RTX 3090, the policy wants a GPU named RTX 4090",),
        policy(host=RequiredHost(gpu="RTX 4090")),
        OVERLAP,
    ),
    Case(
        "another driver",
        (exhibit(),),
        ("driver 580.95, the policy wants 570.*",),
        policy(host=RequiredHost(driver="570.*")),
        OVERLAP,
    ),
    Case(
        "claims that the card cannot hold",
        (exhibit(context=claimed(slots=4)),),
        ("4 requests of 262,144 tokens at once take 18.58 GiB of q4_0 cache; a card of 24.00 GiB beside 12.00 GiB of",),
        missing=OVERLAP,
    ),
    Case(
        "claims beyond the model's own window, of a card that is not known",
        (exhibit(context=claimed(context=300_000, memory=None)),),
        ("300,000 tokens per request are more than the model's native window of 262,144",),
        missing=OVERLAP,
    ),
    Case("not signed", (exhibit(),), ("no signer the policy names",), policy(signers=("ops k x",)), OVERLAP),
    Case("raw samples changed", (exhibit(faults=("raw is off",)),), ("does not count: raw is off",), missing=OVERLAP),
    Case(
        "a good pass before the last failure, and only a weak one after it",
        (
            exhibit(ago=5, verdict="failed"),
            exhibit(ago=4, attempt=2),
            exhibit(ago=3, attempt=3, verdict="failed"),
            exhibit(ago=1, attempt=4, sample_count=1),
        ),
        ("attempt 4 of run run-a passed but does not count: it rests on 1 samples",),
        policy(tolerate=Tolerance(failed=2)),
        OVERLAP,
    ),
    # apart, damaged, already there
    Case(
        "two claims from two runs",
        (exhibit(), exhibit(*NEEDLE, run_id="run-b")),
        ("must come from one launch of one run, and do not: overlap/generating in run run-a, needle/retrieval in",),
        TOGETHER,
    ),
    Case(
        "two claims from two launches of one run",
        (exhibit(), exhibit(*NEEDLE, launch="inv-b")),
        ("must come from one launch",),
        TOGETHER,
    ),
    Case(
        "two claims from two boots under one run's name",
        (exhibit(), exhibit(*NEEDLE, host={"address": "gpu1", "boot_id": "b2"})),
        ("must come from one launch",),
        TOGETHER,
    ),
    Case("a damaged document", (exhibit(),), ("0001-x.json cannot be relied on",), extra={"troubles": [trouble()]}),
    Case(
        "nothing but a damaged document",
        (),
        ("0001-x.json cannot be relied on",),
        missing=("overlap/generating",),
        extra={"troubles": [trouble()]},
    ),
    Case("production's own build", (exhibit(),), ("what production runs already",), extra={"incumbent": BUILD}),
    # every reason, not the first
    Case(
        "everything at once",
        (exhibit(ago=30, suite_digest=OLD_SUITE, sample_count=1, measurements={}, faults=("raw is off",)),),
        (
            "what production runs already",
            "raw is off",
            "by probe suite",
            "1 d 6 h ago",
            "1 samples",
            "no measurement",
            "needle/retrieval was never shown",
            "cannot be relied on",
        ),
        policy(claims=BOTH),
        ("overlap/generating", "needle/retrieval"),
        {"incumbent": BUILD, "troubles": [trouble()]},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gate_says_every_reason_and_no_other(case: Case) -> None:
    """Each case refuses for exactly the reasons listed, in order, or promotes where there is none."""
    answer = judge(BUILD, case.exhibits, case.policy, suite=SUITE, now=NOW, **case.extra)

    said = [words if words in reason else reason for words, reason in zip(case.says, answer.reasons, strict=False)]
    assert said == list(case.says)
    assert answer.reasons[len(said) :] == ()
    assert answer.verdict == ("refuse" if case.says else "promote")
    assert answer.missing == case.missing


def test_the_table_holds_at_least_thirty_refusals() -> None:
    """Thirty refusals and more are judged above."""
    assert sum(bool(case.says) for case in CASES) >= 30


def test_an_answer_names_the_documents_it_rests_on() -> None:
    """A promotion lists one document for each required claim, from the same launch where they belong together."""
    older = (exhibit(ago=5), exhibit(*NEEDLE, ago=5))
    newer = exhibit(ago=1, run_id="run-b", attempt=2)

    answer = judge(BUILD, (newer, *older), TOGETHER, suite=SUITE, now=NOW)

    assert [(used.probe, used.run_id, used.sha256) for used in answer.evidence_used] == [
        (item.evidence.probe, "run-a", item.sha256) for item in older
    ]


def test_tolerated_attempts_are_listed_all_the_same() -> None:
    """A promotion after a tolerated failure says which attempt failed and why."""
    answer = judge(BUILD, (FAILED, PASSED), tolerant(), suite=SUITE, now=NOW)

    assert answer.verdict == "promote"
    assert answer.notes == ("overlap/generating: attempt 1 (run run-a, 3 h ago) failed: two of four streams waited.",)


def test_a_pass_that_was_passed_over_is_named() -> None:
    """A newer pass that is too weak is not used, and the answer says why."""
    weak = exhibit(ago=1, attempt=2, sample_count=2)

    answer = judge(BUILD, (exhibit(ago=5), weak), policy(), suite=SUITE, now=NOW)

    assert [used.attempt for used in answer.evidence_used] == [1]
    (note,) = answer.notes
    assert note.startswith("overlap/generating: attempt 2 (run run-a) passed but was not used: it rests on 2 samples")


def test_the_answer_has_the_keys_of_the_contract() -> None:
    """Scripts find build_id, verdict, reasons, evidence_used and missing."""
    document = judge(BUILD, (), policy(), suite=SUITE, now=NOW).document()

    assert document["build_id"] == BUILD
    assert document["verdict"] == "refuse"
    assert document["missing"] == ["overlap/generating"]
    assert document["evidence_used"] == []
    assert len(document["reasons"]) == 1
