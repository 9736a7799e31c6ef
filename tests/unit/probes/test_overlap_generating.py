from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stager.client.record import Ended
from stager.engines.llamacpp import LLAMACPP
from stager.engines.tabbyapi import TABBYAPI
from stager.models.evidence import Verdict
from stager.probes.overlap_data import Overflow
from stager.probes.overlap_generating import judge_generating
from tests.unit.probes import simulate
from tests.unit.probes.cases import completion, gauge, overlap_data

BATCHED = simulate.batched(4, 128, 25.0, 0.2)
SERIAL = simulate.serial(4, 128, 25.0, 0.2)
SEEDS = st.integers(0, 10_000)


def judge(data, engine=LLAMACPP):
    return judge_generating(data, engine)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, make=st.sampled_from([simulate.batched, simulate.sliced, simulate.independent]))
def test_all_streams_generating_passes_however_they_share_the_device(seed, make) -> None:
    """Batched, sliced or independent: four streams between first and last token at once is claim 2, and no more."""
    judgement = judge(overlap_data(make(4, 128, 25.0, 0.2, seed)))
    assert judgement.verdict is Verdict.PASSED
    assert judgement.measurements["generating_at_once"].value == 4
    assert any("executing" in sentence for sentence in judgement.limits)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_serial_streams_fail(seed) -> None:
    """Four accepted requests served one after the other refute the claim."""
    judgement = judge(overlap_data(simulate.serial(4, 128, 25.0, 0.2, seed)))
    assert judgement.verdict is Verdict.FAILED
    assert judgement.measurements["generating_at_once"].value == 1


def test_a_gauge_that_counts_admissions_is_named() -> None:
    """A gauge that reads four while one generates is reported as counting admissions."""
    judgement = judge(overlap_data(SERIAL, gauge=gauge(4, SERIAL)))
    assert "admissions" in judgement.reasons[0]


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_flushed_streams_are_inconclusive(seed) -> None:
    """Output held back to the end has the buffer's times: neither a pass nor a failure."""
    assert judge(overlap_data(simulate.flushed(4, 128, 25.0, 0.0, seed))).verdict is Verdict.INCONCLUSIVE


def test_a_stream_that_never_reached_the_server_refutes_nothing() -> None:
    """A refused connection among good streams breaks the experiment; a refusal by the server refutes the claim."""
    data = overlap_data(BATCHED)

    def with_last(**changes):
        last = completion([], finish_reasons=(), usage=None, ended=Ended.REFUSED, error="no", **changes)
        return judge(replace(data, completions=(*data.completions[:3], last)))

    assert with_last(status=None, sent_ns=None).verdict is Verdict.ERROR
    assert with_last(status=429).verdict is Verdict.FAILED


def test_an_engine_without_any_gauge_can_pass_from_outside() -> None:
    """Where the engine shows no gauge the streams alone decide, and that is said."""
    judgement = judge(overlap_data(BATCHED, gauge=None, idle_before=None, idle_after=None), TABBYAPI)
    assert judgement.verdict is Verdict.PASSED
    assert any("no gauge" in sentence for sentence in judgement.limits)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gauge": gauge(1, BATCHED)}, "stale or wrong"),
        ({"gauge": gauge(9, BATCHED)}, "other work"),
        ({"gauge": gauge(4, BATCHED, samples=3)}, "gauge samples"),
        ({"idle_before": False}, "not zero before"),
        ({"idle_after": False}, "come back to zero"),
        ({"start_spread": 1.0}, "start spread"),
    ],
)
def test_what_speaks_against_a_good_reading_makes_it_inconclusive(changes, words) -> None:
    """A gauge that disagrees, is asked too rarely or never rests, or an uneven start: no pass."""
    judgement = judge(overlap_data(BATCHED, **changes))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert words in " ".join(judgement.reasons)


def test_a_configured_gauge_is_not_held_against_the_streams() -> None:
    """A number that is not measured neither supports nor hinders."""
    judgement = judge(overlap_data(BATCHED, gauge=gauge(99, BATCHED, measured=False)))
    assert judgement.verdict is Verdict.PASSED
    assert any("not measured" in sentence for sentence in judgement.limits)


def test_short_streams_are_inconclusive() -> None:
    """With fewer than 64 tokens each after the last first token the overlap may be an accident."""
    judgement = judge(overlap_data(simulate.batched(4, 40, 25.0, 0.2)))
    assert judgement.verdict is Verdict.INCONCLUSIVE


def test_prefills_longer_than_the_streams_do_not_refute() -> None:
    """Where four prefills in a row take longer than a stream lasts, one at a time may be the prompts' doing."""
    short = simulate.serial(4, 80, 5.0, 0.1)
    slow = tuple(completion([2_000_000_000, 2_100_000_000]) for _ in range(2))
    judgement = judge(overlap_data(short, controls=slow))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "prefills" in judgement.reasons[0]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"finish_reasons": ()}, Verdict.FAILED),
        ({"finish_reasons": ("",)}, Verdict.FAILED),
        ({"finish_reasons": ("parse_error",)}, Verdict.FAILED),
        ({"error": "out of memory"}, Verdict.FAILED),
        ({"ended": Ended.DISCONNECTED, "error": "the connection broke"}, Verdict.FAILED),
        ({"usage": None}, Verdict.INCONCLUSIVE),
        ({"ended": Ended.LIMIT, "error": "a line is longer than 10 bytes"}, Verdict.ERROR),
        ({"unreadable": ("a chunk is not JSON",)}, Verdict.ERROR),
    ],
)
def test_each_stream_must_end_as_expected(change, verdict) -> None:
    """One stream with a wrong end is enough: refuted, uncountable, or broken."""
    data = overlap_data(BATCHED)
    bad = replace(data.completions[2], **change)
    judgement = judge(replace(data, completions=(*data.completions[:2], bad, data.completions[3])))
    assert judgement.verdict is verdict


def test_no_output_at_all_is_an_error() -> None:
    """When no stream brings anything the experiment was not made."""
    dead = tuple(completion((), ended=Ended.REFUSED, error="no connection", status=None) for _ in range(4))
    judgement = judge(overlap_data([(), (), (), ()], completions=dead))
    assert judgement.verdict is Verdict.ERROR


def test_a_connection_lost_by_all_is_an_error_not_a_failure() -> None:
    """When every stream breaks off, the path or the server died; that refutes nothing."""
    cut = tuple(completion(times, ended=Ended.DISCONNECTED, error="the connection broke") for times in BATCHED)
    assert judge(overlap_data(BATCHED, completions=cut)).verdict is Verdict.ERROR


def test_length_before_its_length_is_refuted() -> None:
    """A stream that says length after half the tokens asked for does not end as expected."""
    judgement = judge(overlap_data(BATCHED, expected_tokens=256))
    assert judgement.verdict is Verdict.FAILED


def test_a_refused_request_above_the_slots_fails() -> None:
    """The request above the slot count must wait and be served, not be turned away."""
    served = tuple(completion(times) for times in BATCHED)
    turned_away = completion((), ended=Ended.REFUSED, error="concurrency limit reached", status=429)
    good = judge(overlap_data(BATCHED, overflow=Overflow(3, served)))
    bad = judge(overlap_data(BATCHED, overflow=Overflow(4, (*served, turned_away))))
    assert good.verdict is Verdict.PASSED
    assert good.measurements["overflow_served"].value == 4
    assert bad.verdict is Verdict.FAILED
    assert "concurrency limit" in " ".join(bad.reasons)
