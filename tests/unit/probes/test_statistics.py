from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from stager.probes import statistics as s
from tests.unit.probes import simulate

SEEDS = st.integers(min_value=0, max_value=10_000)
STEPS = st.sampled_from([5.0, 13.0, 25.0, 60.0])


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, step=STEPS)
def test_batched_streams_arrive_together(seed: int, step: float) -> None:
    """Streams advanced in the same steps read a co-arrival that shows it while jitter (sd) is within step/16."""
    arrivals = simulate.batched(4, 128, step, step / 16, seed)
    share, _ = s.co_arrival(arrivals)
    assert share >= 0.8
    assert s.generating_at_once(arrivals) == 4


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, step=STEPS)
def test_sliced_streams_interleave_and_never_arrive_together(seed: int, step: float) -> None:
    """Time-slicing switches streams at almost every token, and its co-arrival is near zero all the same."""
    arrivals = simulate.sliced(4, 96, step, step / 16, seed)
    share, _ = s.co_arrival(arrivals)
    assert share <= 0.1
    assert s.switch_rate(arrivals) >= 0.8
    assert s.generating_at_once(arrivals) == 4


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, step=STEPS, streams=st.integers(min_value=2, max_value=6))
def test_serial_streams_generate_one_at_a_time(seed: int, step: float, streams: int) -> None:
    """Streams served one after the other have one generating at once, no shared span and no co-arrival."""
    arrivals = simulate.serial(streams, 64, step, step / 20, seed)
    assert s.generating_at_once(arrivals) == 1
    assert s.co_arrival(arrivals) is None
    assert s.throughput(arrivals) is None


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_independent_engines_read_about_the_null(seed: int) -> None:
    """Four engines of the same pace that share nothing read far below what shows shared steps."""
    share, _ = s.co_arrival(simulate.independent(4, 200, 25.0, 1.0, seed))
    assert share <= 0.3
    assert s.co_arrival_null(4) == 0.125
    assert s.co_arrival_null(2) == 0.5


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, streams=st.integers(min_value=1, max_value=8))
def test_flushed_streams_show_as_bursts(seed: int, streams: int) -> None:
    """Output held back and sent at once is recognised by its gaps, whatever it looks like otherwise."""
    assert s.burst_share(simulate.flushed(streams, 64, 5.0, 0.0, seed)) > 0.5
    assert s.burst_share(simulate.batched(streams, 64, 5.0, 0.3, seed)) < 0.05


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 1000), st.integers(1, 1000)).map(lambda pair: (pair[0], pair[0] + pair[1])),
        min_size=1,
        max_size=7,
    )
)
def test_generating_at_once_is_the_largest_pairwise_overlapping_set(spans: list[tuple[int, int]]) -> None:
    """The sweep agrees with the definition tried on every moment: max(first) < min(last) over the largest set."""
    moments = sorted({edge for span in spans for edge in span})
    between = [(a + b) / 2 for a, b in pairwise(moments)]
    expected = max(sum(begin < moment < end for begin, end in spans) for moment in between)
    assert s.generating_at_once(spans) == expected


def test_streams_that_only_touch_do_not_overlap() -> None:
    """A first token at the very moment of another stream's last one is not generating at once."""
    assert s.generating_at_once([(0, 10), (10, 20)]) == 1


def test_streams_without_tokens_count_for_nothing() -> None:
    """A stream that never brought a token is not generating, and leaves no shared span."""
    assert s.generating_at_once([(), ()]) == 0
    assert s.generating_at_once([(), (0, 5)]) == 1
    assert s.shared_span([(), (0, 5)]).seconds == 0


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_scaling_finds_the_ratio_and_brackets_it(seed: int) -> None:
    """Four streams at the pace of one are four times its throughput, and the interval holds the value."""
    together = simulate.batched(4, 120, 20.0, 0.5, seed)
    alone = [simulate.batched(1, 60, 20.0, 0.5, seed + number)[0] for number in (1, 2)]
    ratio = s.scaling(together, alone)
    assert 3.5 < ratio.value < 4.5
    assert ratio.low <= ratio.value <= ratio.high


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_scaling_of_slices_is_one(seed: int) -> None:
    """Streams that take turns bring no more tokens than one stream alone."""
    ratio = s.scaling(simulate.sliced(4, 80, 10.0, 0.3, seed), [simulate.batched(1, 100, 10.0, 0.3, seed)[0]])
    assert 0.85 < ratio.value < 1.15


def test_scaling_needs_both_sides() -> None:
    """Without a shared span or without a control there is no ratio, rather than a made-up one."""
    together = simulate.batched(4, 64, 10.0, 0.1)
    assert s.scaling(simulate.serial(4, 64, 10.0, 0.1), [together[0]]) is None
    assert s.scaling(together, []) is None


def test_scaling_is_the_same_for_the_same_samples() -> None:
    """The bootstrap has a fixed seed: whoever reads the raw samples gets the interval of the evidence."""
    together, alone = simulate.batched(4, 64, 10.0, 0.1), [simulate.batched(1, 64, 10.0, 0.1, 7)[0]]
    assert s.scaling(together, alone) == s.scaling(together, alone)


def test_lock_step_deviation_is_measured_within_each_tick() -> None:
    """A late tick is the source's doing; only the spread of streams within a tick is the client's."""
    assert s.tick_deviations([[0, 50_000_000], [0, 50_000_000]]) == [0, 0, 0, 0]
    assert max(s.tick_deviations([[0], [0], [2_000_000]])) == 2.0


@given(values=st.lists(st.floats(0, 1e6), min_size=1, max_size=50), share=st.floats(0.01, 1))
def test_percentile_is_the_nearest_rank(values: list[float], share: float) -> None:
    """At least the asked share of values do not exceed the percentile, and it is one of them."""
    found = s.percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


def test_percentile_of_nothing_is_nothing() -> None:
    """No samples give no number."""
    assert s.percentile([], 0.95) is None
