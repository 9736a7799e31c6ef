from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stager.models.evidence import Verdict
from stager.probes.overlap_executing import judge_executing
from stager.probes.steps import StepWindow
from tests.unit.probes import simulate
from tests.unit.probes.cases import GOOD_CALIBRATION, completion, overlap_data

SEEDS = st.integers(0, 10_000)
BATCHED = simulate.batched(4, 128, 25.0, 0.2)
SLICED = simulate.sliced(4, 128, 6.25, 0.2)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, jitter=st.floats(0, 1.0))
def test_batched_streams_pass_by_times_alone(seed, jitter) -> None:
    """Without any step counter, co-arrival of four streams shows shared steps."""
    data = overlap_data(simulate.batched(4, 128, 25.0, jitter, seed), steps=None, step_source="none")
    judgement = judge_executing(data)
    assert judgement.verdict is Verdict.PASSED
    assert judgement.measurements["co_arrival_null"].value == 0.125


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_sliced_streams_fail_by_times_alone_and_are_named(seed) -> None:
    """Time-slicing interleaves perfectly and is refuted all the same, under its own name."""
    judgement = judge_executing(overlap_data(simulate.sliced(4, 128, 6.25, 0.2, seed), steps=None))
    assert judgement.verdict is Verdict.FAILED
    assert "take turns" in judgement.reasons[0]


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_independent_engines_fail(seed) -> None:
    """Streams on engines of their own share no steps."""
    assert judge_executing(overlap_data(simulate.independent(4, 128, 25.0, 0.2, seed), steps=None)).verdict is (
        Verdict.FAILED
    )


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, steps=st.sampled_from([None, StepWindow(512, 512)]))
def test_serial_streams_fail(seed, steps) -> None:
    """Streams one after the other were in no step together, with or without a counter that says so."""
    assert judge_executing(overlap_data(simulate.serial(4, 128, 25.0, 0.2, seed), steps=steps)).verdict is (
        Verdict.FAILED
    )


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_flushed_streams_without_counter_are_inconclusive(seed) -> None:
    """Held-back output has no step times, so without a counter nothing can be said."""
    assert judge_executing(overlap_data(simulate.flushed(4, 128, 25.0, 0, seed), steps=None)).verdict is (
        Verdict.INCONCLUSIVE
    )


def test_the_step_counter_can_carry_the_claim_alone() -> None:
    """Four tokens per step between idle points pass even where the path is too coarse for times."""
    coarse = replace(GOOD_CALIBRATION, jitter_ms=20.0)
    judgement = judge_executing(overlap_data(BATCHED, calibration=coarse))
    assert judgement.verdict is Verdict.PASSED
    assert judgement.measurements["tokens_per_step"].value == 4


def test_one_token_per_step_refutes() -> None:
    """Steps that carried one token each were not shared."""
    judgement = judge_executing(overlap_data(SLICED, steps=StepWindow(512, 512)))
    assert judgement.verdict is Verdict.FAILED


def test_arrivals_outrank_a_counter_that_claims_shared_steps() -> None:
    """Streams that visibly take turns are refuted, whatever the engine's own counter says."""
    judgement = judge_executing(overlap_data(SLICED, steps=StepWindow(512, 128)))
    assert judgement.verdict is Verdict.FAILED
    assert "not to be believed" in judgement.reasons[0]


def test_a_counter_that_denies_what_arrivals_show_leaves_it_open() -> None:
    """Tokens that arrive together over steps of one token each: something joins them, and nothing passes."""
    judgement = judge_executing(overlap_data(BATCHED, steps=StepWindow(512, 512)))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "contradict" in judgement.reasons[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"calibration": replace(GOOD_CALIBRATION, jitter_ms=4.0)}, "eighth"),
        ({"calibration": replace(GOOD_CALIBRATION, time_sliced=0.4)}, "fakes"),
        ({"calibration": replace(GOOD_CALIBRATION, time_sliced=None)}, "may fake"),
        ({"calibration": None, "calibration_fault": "it did not start"}, "did not start"),
    ],
)
def test_an_uncalibrated_client_or_path_is_inconclusive(change, words) -> None:
    """Jitter above an eighth of the step, or a path that fakes co-arrival, forbids a verdict by times."""
    judgement = judge_executing(overlap_data(BATCHED, steps=None, **change))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert words in " ".join(judgement.reasons)


def test_two_streams_cannot_be_judged_by_times() -> None:
    """At N = 2 independent engines already read half, so times alone say nothing."""
    judgement = judge_executing(overlap_data(simulate.batched(2, 128, 25.0, 0.2), steps=None))
    assert judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("counted", "words"), [(800, "other work"), (300, "incomplete")])
def test_a_counter_that_does_not_match_our_tokens_is_silent(counted, words) -> None:
    """More tokens than ours mean other work, fewer an incomplete counter; times must then carry the claim."""
    data = overlap_data(BATCHED, steps=StepWindow(counted, 128), calibration=None, calibration_fault="off")
    judgement = judge_executing(data)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert words in judgement.reasons[0]


def test_tokens_that_share_chunks_forbid_a_verdict_by_times() -> None:
    """Where several tokens come in one chunk, a chunk is not a step."""
    data = overlap_data(BATCHED, steps=None)
    usage = replace(data.completions[0].usage, completion_tokens=400)
    data = replace(data, completions=tuple(replace(c, usage=usage) for c in data.completions))
    assert judge_executing(data).verdict is Verdict.INCONCLUSIVE


def test_a_batch_of_two_refutes_four() -> None:
    """Four streams over steps of width two were not executed together."""
    judgement = judge_executing(overlap_data(SLICED, steps=StepWindow(512, 256)))
    assert judgement.verdict is Verdict.FAILED


def test_scaling_is_reported_and_decides_nothing() -> None:
    """A compute-bound batch passes at a scaling of one, with the number and its interval beside it."""
    slow = simulate.batched(4, 128, 100.0, 0.2)
    judgement = judge_executing(overlap_data(slow))
    assert judgement.verdict is Verdict.PASSED
    assert judgement.measurements["scaling"].value == pytest.approx(1.0, abs=0.15)
    assert judgement.measurements["scaling_low"].value <= judgement.measurements["scaling"].value


def test_a_stream_without_output_fails() -> None:
    """Three streams with output and one without were not four executed together."""
    data = overlap_data(BATCHED)
    data = replace(data, completions=(*data.completions[:3], completion((), error="refused")))
    assert judge_executing(data).verdict is Verdict.FAILED
