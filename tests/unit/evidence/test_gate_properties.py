"""What no evidence can talk the gate into, for any heap of evidence."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stager.evidence.gate import judge
from stager.models.answer import GateAnswer
from stager.models.evidence import Measurement, Verdict
from stager.models.exhibit import Exhibit
from stager.models.policy import Policy, RequiredHost, Tolerance
from tests.unit.evidence.cases import BUILD, NOW, OLD_SUITE, OTHER, SUITE, claimed, exhibit, policy, required

unhurried = settings(deadline=None)  # the machine may be busy

FITS, FITS_NOT = claimed(), claimed(slots=4)
CLAIMS = (("overlap", "generating"), ("overlap", "executing"), ("needle", "retrieval"))


@st.composite
def exhibits(draw: st.DrawFn, build_id: str = BUILD) -> Exhibit:
    """Any one document, good or bad in any of the ways the gate knows."""
    probe, claim = draw(st.sampled_from(CLAIMS))
    run = draw(st.sampled_from("abc"))
    verdict = draw(st.sampled_from([Verdict.PASSED, Verdict.PASSED, Verdict.PASSED, *Verdict]))
    return exhibit(
        probe,
        claim,
        build_id=build_id,
        ago=draw(st.sampled_from([-1, 1, 2, 3, 4, 5, 30])),
        verdict=verdict,
        attempt=draw(st.integers(1, 5)),
        run_id=f"run-{run}",
        launch=f"inv-{run}",
        suite_digest=draw(st.sampled_from([SUITE, SUITE, OLD_SUITE])),
        sample_count=draw(st.sampled_from([31, 31, 1])),
        measurements={"streams_at_once": Measurement(value=draw(st.sampled_from([4, 4, 1])), unit="count")},
        faults=draw(st.sampled_from([(), (), ("raw is off",)])),
        signed_by=draw(st.sampled_from([(), ("ops",)])),
        context=draw(st.sampled_from([None, FITS, FITS_NOT])),
    )


policies = st.builds(
    policy,
    claims=st.just(tuple(required(*claim) for claim in CLAIMS)) | st.just((required(),)),
    tolerate=st.builds(
        Tolerance, failed=st.integers(0, 2), error=st.just(1), aborted=st.just(1), inconclusive=st.just(1)
    ),
    host=st.sampled_from([RequiredHost(), RequiredHost(gpu="RTX 3090"), RequiredHost(gpu="H100")]),
    signers=st.sampled_from([(), ("ops k x",)]),
).flatmap(
    lambda made: (
        st.sampled_from([made, made.model_copy(update={"together": (tuple(claim.name for claim in made.claims),)})])
        if len(made.claims) > 1
        else st.just(made)
    )
)
heaps = st.lists(exhibits(), max_size=12)


def answer(heap: list[Exhibit], under: Policy) -> GateAnswer:
    """The gate's answer about the build in question."""
    return judge(BUILD, heap, under, suite=SUITE, now=NOW)


@unhurried
@given(heaps, st.lists(exhibits(build_id=OTHER), max_size=6), policies)
def test_evidence_of_another_build_never_changes_the_verdict(
    heap: list[Exhibit], foreign: list[Exhibit], under: Policy
) -> None:
    """Whatever another build has shown or failed, the verdict and what is missing stay the same."""
    alone, beside = answer(heap, under), answer([*foreign, *heap], under)

    assert (beside.verdict, beside.missing, beside.evidence_used) == (alone.verdict, alone.missing, alone.evidence_used)


@unhurried
@given(heaps, policies, st.data())
def test_removing_passing_evidence_never_turns_refuse_into_promote(
    heap: list[Exhibit], under: Policy, data: st.DataObject
) -> None:
    """Whoever hides a pass gains nothing."""
    passes = [item for item in heap if item.evidence.verdict is Verdict.PASSED]
    hidden = data.draw(st.lists(st.sampled_from(passes), unique_by=id) if passes else st.just([]))
    rest = [item for item in heap if not any(item is other for other in hidden)]

    assert answer(heap, under).verdict == "promote" or answer(rest, under).verdict == "refuse"


@unhurried
@given(heaps, policies, exhibits())
def test_an_attempt_that_did_not_pass_never_helps(heap: list[Exhibit], under: Policy, added: Exhibit) -> None:
    """Adding a failure, an error, an abort or an inconclusive attempt never turns refuse into promote."""
    if added.evidence.verdict is not Verdict.PASSED:
        assert answer(heap, under).verdict == "promote" or answer([*heap, added], under).verdict == "refuse"


@unhurried
@given(heaps, policies, st.randoms(use_true_random=False))
def test_the_order_of_the_heap_does_not_matter(heap: list[Exhibit], under: Policy, random: object) -> None:
    """The same documents in any order give the same answer."""
    shuffled = list(heap)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert answer(shuffled, under) == answer(heap, under)


@unhurried
@given(heaps, policies)
def test_a_promotion_rests_on_passes_of_this_build_only(heap: list[Exhibit], under: Policy) -> None:
    """Every required claim has a passing document of this build, suite and age under it, or the answer is refuse."""
    said = answer(heap, under)

    if said.verdict == "promote":
        by_digest = {item.sha256: item.evidence for item in heap}
        used = [by_digest[item.sha256] for item in said.evidence_used]
        assert {f"{item.probe}/{item.claim}" for item in used} >= {claim.name for claim in under.claims}
        assert all(item.verdict is Verdict.PASSED and item.build_id == BUILD for item in used)
        assert all(item.suite_digest == SUITE and item.ended_at <= NOW for item in used)
        assert all(item.context is not FITS_NOT for item in used)
        assert said.reasons == said.missing == ()
