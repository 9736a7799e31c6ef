"""What arrival times say about streams that ran at once. Pure: times in, numbers out.

Arrivals are per stream, ascending, in nanoseconds; several tokens of one read share one time.
Definitions and simulated figures: co-arrival separates shared steps from time-slicing, which
interleaves perfectly; generating at once is the largest set with max(first) < min(last).
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

Arrivals = Sequence[Sequence[int]]

#: Co-arrival looks this share of the median gap to both sides (simulated: it separates up to a jitter of step/8).
WINDOW = 0.25

#: Two tokens closer than this many nanoseconds came in one burst: no client tells them apart.
BURST_NS = 100_000


@dataclass(frozen=True, slots=True)
class Shared:
    """The span in which all streams were between their first and last token; empty when ``end <= begin``."""

    begin: int
    end: int

    @property
    def seconds(self) -> float:
        """Its length, 0 when it is empty."""
        return max(0, self.end - self.begin) / 1e9


def generating_at_once(arrivals: Arrivals) -> int:
    """The largest k such that max(first token) < min(last token) over some k streams.

    A stream without tokens counts for nothing; one with a single token has no span and cannot overlap.
    """
    spans = [(times[0], times[-1]) for times in arrivals if len(times) > 1 and times[0] < times[-1]]
    if not spans:
        return int(any(arrivals))
    edges = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    depth = peak = 0
    for _, change in edges:  # at equal times the end sorts first: touching is not overlapping
        depth += change
        peak = max(peak, depth)
    return peak


def shared_span(arrivals: Arrivals) -> Shared:
    """The span from the last stream's first token to the first stream's last token."""
    if not arrivals or not all(arrivals):
        return Shared(0, 0)
    return Shared(max(times[0] for times in arrivals), min(times[-1] for times in arrivals))


def within(times: Sequence[int], span: Shared) -> list[int]:
    """The arrivals inside a span, its ends included."""
    return [at for at in times if span.begin <= at <= span.end]


def gaps(arrivals: Arrivals) -> list[int]:
    """All times between successive tokens of the same stream."""
    return [later - earlier for times in arrivals for earlier, later in pairwise(times)]


def median_gap(arrivals: Arrivals) -> float | None:
    """The median time between successive tokens of the same stream in nanoseconds, None without any gap."""
    found = gaps(arrivals)
    return median(found) if found else None


def burst_share(arrivals: Arrivals) -> float:
    """The share of gaps that are no gaps: tokens that were held back and came together."""
    found = gaps(arrivals)
    return sum(gap <= BURST_NS for gap in found) / len(found) if found else 0.0


def co_arrival(arrivals: Arrivals, window: float = WINDOW) -> tuple[float, int] | None:
    """How often a token arrives together with one of every other stream, and over how many tokens.

    Only the shared span counts. "Together" is within ``window`` of the median gap there. None where the
    streams share no span or there is only one.
    """
    span = shared_span(arrivals)
    inside = [within(times, span) for times in arrivals]
    gap = median_gap(inside)
    if len(arrivals) < 2 or span.end <= span.begin or not gap:
        return None
    reach = window * gap
    counted = together = 0
    for index, times in enumerate(inside):
        others = [other for position, other in enumerate(arrivals) if position != index]
        for at in times:
            counted += 1
            together += all(_nearest(other, at) <= reach for other in others)
    return (together / counted, counted) if counted else None


def co_arrival_null(streams: int, window: float = WINDOW) -> float:
    """What independent engines of the same pace would read: each other stream is near with chance 2 x window.

    At N = 2 this is 0.5, too near to anything; at N = 4 it is 0.125 (simulated: 0.08 to 0.21).
    """
    return min(1.0, 2 * window) ** (streams - 1)


def switch_rate(arrivals: Arrivals) -> float | None:
    """How often the next token in the shared span belongs to another stream. High for batching and for slicing."""
    span = shared_span(arrivals)
    order = sorted((at, index) for index, times in enumerate(arrivals) for at in within(times, span))
    if len(order) < 2 or span.end <= span.begin:
        return None
    return sum(a != b for (_, a), (_, b) in pairwise(order)) / (len(order) - 1)


def throughput(arrivals: Arrivals) -> float | None:
    """Tokens per second of all streams together in their shared span; None when that is empty."""
    span = shared_span(arrivals)
    if span.end <= span.begin:
        return None
    # The tokens that open the span are its starting points, not its work.
    return sum(sum(span.begin < at <= span.end for at in times) for times in arrivals) / span.seconds


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def scaling(together: Arrivals, alone: Sequence[Sequence[int]], *, blocks: int = 12, draws: int = 1000) -> Ratio | None:
    """T(N)/T(1): throughput in the shared span over that of single-stream controls.

    The interval comes from a bootstrap over blocks of time (neighbouring steps are not independent), with a
    fixed seed, so that the same samples always give the same interval. None where either side has too little.

    Args:
        together: arrivals of the streams that ran at once.
        alone: arrivals of each single-stream control.
        blocks: blocks per run.
        draws: bootstrap repetitions.
    """
    span = shared_span(together)
    many = list(_block_rates(together, span, blocks))
    single = [rate for times in alone if len(times) > 2 for rate in _block_rates([times], shared_span([times]), blocks)]
    if not many or not single or not sum(single):
        return None
    source = random.Random(20261129)

    def mean_of_draw(rates: list[float]) -> float:
        return sum(source.choices(rates, k=len(rates))) / len(rates)

    drawn = sorted(mean_of_draw(many) / (mean_of_draw(single) or 1e-9) for _ in range(draws))
    value = (sum(many) / len(many)) / (sum(single) / len(single))
    return Ratio(value, drawn[int(0.025 * draws)], drawn[int(0.975 * draws) - 1])


def tick_deviations(arrivals: Arrivals) -> list[float]:
    """For a lock-step source: how far each token came from the middle of its own tick, in milliseconds.

    The k-th token of every stream belongs to tick k.
    """
    found = []
    for tick in zip(*arrivals, strict=False):
        middle = median(tick)
        found += [abs(at - middle) / 1e6 for at in tick]
    return found


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of all values do not exceed (nearest rank); None without values."""
    if not values:
        return None
    ranked = sorted(values)
    rank = -int(-share * len(ranked) // 1)
    return ranked[min(len(ranked), max(1, rank)) - 1]


def _nearest(times: Sequence[int], at: int) -> float:
    position = bisect_left(times, at)
    return min((abs(times[i] - at) for i in (position - 1, position) if 0 <= i < len(times)), default=float("inf"))


def _block_rates(arrivals: Arrivals, span: Shared, blocks: int) -> Iterator[float]:
    """Tokens per second in each of ``blocks`` equal parts of a span."""
    length = (span.end - span.begin) / blocks
    if length <= 0:
        return
    for block in range(blocks):
        begin, end = span.begin + block * length, span.begin + (block + 1) * length
        yield sum(sum(begin < at <= end for at in times) for times in arrivals) / (length / 1e9)
