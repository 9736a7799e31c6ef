"""What one endpoint's open-loop samples say about a span of time: pure, and judged against named limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from stager.client.sampler import Sample

#: Samples that fell into the span. Fewer say nothing about a maximum; the field notes had 73.
LEAST_SAMPLES = 20
#: Seconds one answer may take beyond what the engine's design costs: the default ``timeoutSeconds`` of a Kubernetes
#: probe, after which an orchestrator takes a living engine for a dead one.
SLOWEST_S = 1.0


@dataclass(frozen=True, slots=True)
class Series:
    """One endpoint in one span: counts, latencies (s, from the intended time), the longest time without an answer."""

    path: str
    expected: int
    obtained: int
    errors: tuple[str, ...]
    latencies: tuple[float, ...]
    longest_gap: float

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


def series(path: str, taken: Sequence[Sample[int]], begin_ns: int, end_ns: int) -> Series:
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
    gap = max((later - earlier) / 1e9 for earlier, later in itertools.pairwise(moments))
    return Series(path, len(due), len(good), errors, tuple(s.latency for s in good), gap)


def complaints(found: Series, slowest_s: float) -> list[str]:
    """Return everything that is wrong with a series; a gap counts like a slow answer."""
    wrong = []
    if found.errors:
        wrong.append(f"{found.path} failed {len(found.errors)} of {found.expected} times, first: {found.errors[0]}")
    if found.slowest is not None and found.slowest > slowest_s:
        wrong.append(f"{found.path} once took {found.slowest:.3f} s, more than {slowest_s:g} s")
    elif found.longest_gap > slowest_s:
        wrong.append(f"{found.path} gave no good answer for {found.longest_gap:.3f} s, more than {slowest_s:g} s")
    return wrong
