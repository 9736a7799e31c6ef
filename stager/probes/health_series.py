"""What one endpoint's open-loop samples say about a span of time: pure, and judged against named limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stager.client.sampler import Sample

#: Samples that fell into the span. Fewer say nothing about a maximum; the field notes had 73.
LEAST_SAMPLES = 20
#: Seconds one answer may take beyond what the engine's design costs: the default ``timeoutSeconds`` of a Kubernetes
#: probe, after which an orchestrator takes a living engine for a dead one.
SLOWEST_S = 1.0


#: A question that goes out so much later (ns) than it was due shows that this client itself stood still meanwhile.
STALL_NS = 50_000_000

Stalls = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Series:
    """One endpoint in one span: counts, latencies (s, from the intended time), the longest time without an answer.

    ``slowest_but_ours`` and ``gap_but_ours`` are the largest latency and gap without the time this client stood still.
    """

    path: str
    expected: int
    obtained: int
    errors: tuple[str, ...]
    latencies: tuple[float, ...]
    longest_gap: float
    slowest_but_ours: float
    gap_but_ours: float

    @property
    def slowest(self) -> float | None:
        """The largest latency."""
        return max(self.latencies, default=None)

    def quantile(self, share: float) -> float | None:
        """Return the latency that this share of the samples does not exceed (nearest rank)."""
        if not self.latencies:
            return None
        ordered = sorted(self.latencies)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def client_stalls(runs: Iterable[Sequence[Sample[int]]]) -> list[tuple[int, int]]:
    """Return the spans in which this client did not even ask what was due, merged, in order (ns)."""
    stalls: list[tuple[int, int]] = []
    late = [(s.intended_ns, s.asked_ns) for run in runs for s in run if s.asked_ns - s.intended_ns > STALL_NS]
    for begin, end in sorted(late):
        if stalls and begin <= stalls[-1][1]:
            stalls[-1] = (stalls[-1][0], max(stalls[-1][1], end))
        else:
            stalls.append((begin, end))
    return stalls


def _but_ours(begin_ns: int, end_ns: int, stalls: Stalls) -> float:
    ours = sum(max(0, min(end_ns, end) - max(begin_ns, begin)) for begin, end in stalls)
    return (end_ns - begin_ns - ours) / 1e9


def series(path: str, taken: Sequence[Sample[int]], begin_ns: int, end_ns: int, stalls: Stalls = ()) -> Series:
    """Cut the samples that were due within a span out of a run.

    A sample that was due there counts there, whenever its answer came; an answer after the span's end closes
    the last gap. A status other than 2xx is an error.
    """
    due = [s for s in taken if begin_ns <= s.intended_ns < end_ns]
    good = [s for s in due if s.ok and s.value is not None and 200 <= s.value < 300]
    errors = tuple(s.error if s.error is not None else f"status {s.value}" for s in due if s not in good)
    moments = [begin_ns, *sorted(s.answered_ns for s in good)]
    if moments[-1] < end_ns:
        moments.append(end_ns)
    gaps = list(itertools.pairwise(moments))
    return Series(
        path,
        len(due),
        len(good),
        errors,
        tuple(s.latency for s in good),
        max((later - earlier) / 1e9 for earlier, later in gaps),
        max((_but_ours(s.intended_ns, s.answered_ns, stalls) for s in good), default=0.0),
        max(_but_ours(*gap, stalls) for gap in gaps),
    )


def complaints(found: Series, slowest_s: float) -> list[str]:
    """Return everything that is wrong with a series; a gap counts like a slow answer."""
    wrong = []
    if found.errors:
        wrong.append(f"{found.path} failed {len(found.errors)} of {found.expected} times, first: {found.errors[0]}")
    if found.slowest is not None and found.slowest_but_ours > slowest_s:
        wrong.append(f"{found.path} once took {found.slowest:.3f} s, more than {slowest_s:g} s")
    elif found.gap_but_ours > slowest_s:
        wrong.append(f"{found.path} gave no good answer for {found.longest_gap:.3f} s, more than {slowest_s:g} s")
    return wrong


def doubts(found: Series, slowest_s: float) -> list[str]:
    """Return what would be wrong if it were not for this client's own standing still."""
    worst = max(found.slowest or 0.0, found.longest_gap)
    if worst <= slowest_s or complaints(found, slowest_s):
        return []
    return [f"{found.path} once took {worst:.3f} s, but this client stood still meanwhile: it is too busy to judge by"]
