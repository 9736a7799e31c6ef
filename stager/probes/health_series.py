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


#: A question that goes out so much later (ns) than it was due shows that this client itself stood still meanwhile; an
#: answer of the control that takes so long, that the path or the host did.
STALL_NS = 50_000_000

Span = tuple[int, int]
Stalls = Sequence[Span]

#: Where nothing is known of the path, it may have stood still all the time.
FOREVER_NS = 1 << 63
UNKNOWN: Stalls = ((0, FOREVER_NS),)
ELSEWHERE = "but meanwhile this client, the path or the host stood still: that is not the engine's doing"


@dataclass(frozen=True, slots=True)
class Series:
    """One endpoint in one span: counts, latencies (s, from the intended time), the longest time without an answer.

    ``lost`` are questions that brought no answer while this client, the path or the host mostly stood still.

    ``slowest_but_ours`` and ``gap_but_ours`` are the largest latency and gap without the time in which this client, the
    path or the host stood still.
    """

    path: str
    expected: int
    obtained: int
    errors: tuple[str, ...]
    lost: int
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


def standstills(runs: Iterable[Sequence[Sample[int]]], control: Sequence[Sample[int]] = ()) -> list[Span]:
    """Return the spans that are no fault of the engine's, merged, in order (ns).

    Those in which this client did not even ask what was due, and those in which the control, a source on the host that
    does nothing but answer, was not heard over the same path.
    """
    late = [(s.intended_ns, s.asked_ns) for run in (*runs, control) for s in run]
    late += [(s.intended_ns, s.answered_ns) for s in control if s.ok]
    late += _unheard(control)
    merged: list[Span] = []
    for begin, end in sorted(span for span in late if span[1] - span[0] > STALL_NS):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _unheard(control: Sequence[Sample[int]]) -> list[Span]:
    """The spans from a question to the control that brought no answer to the next answer, if one ever came."""
    heard = sorted(s.answered_ns for s in control if s.ok)
    return [(s.intended_ns, next((at for at in heard if at > s.answered_ns), FOREVER_NS)) for s in control if not s.ok]


def _but_ours(begin_ns: int, end_ns: int, stalls: Stalls) -> float:
    ours = sum(max(0, min(end_ns, end) - max(begin_ns, begin)) for begin, end in stalls)
    return (end_ns - begin_ns - ours) / 1e9


def _mostly_ours(sample: Sample[int], stalls: Stalls) -> bool:
    begin, end = sample.intended_ns, max(sample.answered_ns, sample.intended_ns + 1)
    return _but_ours(begin, end, stalls) < (end - begin) / 2e9


def series(path: str, taken: Sequence[Sample[int]], begin_ns: int, end_ns: int, stalls: Stalls = ()) -> Series:
    """Cut the samples that were due within a span out of a run.

    A sample that was due there counts there, whenever its answer came; an answer after the span's end closes
    the last gap. A status other than 2xx is an error.
    """
    due = [s for s in taken if begin_ns <= s.intended_ns < end_ns]
    good = [s for s in due if s.ok and s.value is not None and 200 <= s.value < 300]
    bad = [s for s in due if s not in good]
    lost = [s for s in bad if s.error is not None and _mostly_ours(s, stalls)]
    errors = tuple(s.error if s.error is not None else f"status {s.value}" for s in bad if s not in lost)
    moments = [begin_ns, *sorted(s.answered_ns for s in good)]
    if moments[-1] < end_ns:
        moments.append(end_ns)
    gaps = list(itertools.pairwise(moments))
    return Series(
        path,
        len(due),
        len(good),
        errors,
        len(lost),
        tuple(s.latency for s in good),
        max((later - earlier) / 1e9 for earlier, later in gaps),
        max((_but_ours(s.intended_ns, s.answered_ns, stalls) for s in good), default=0.0),
        max(_but_ours(*gap, stalls) for gap in gaps),
    )


def failures(found: Series) -> list[str]:
    """Return what is wrong with the answers themselves, whatever time they took."""
    if not found.errors:
        return []
    return [f"{found.path} failed {len(found.errors)} of {found.expected} times, first: {found.errors[0]}"]


def too_slow(found: Series, slowest_s: float) -> list[str]:
    """Return what the engine took too long for; a gap counts like a slow answer."""
    if found.slowest is not None and found.slowest_but_ours > slowest_s:
        return [f"{found.path} once took {found.slowest:.3f} s, more than {slowest_s:g} s"]
    if found.gap_but_ours > slowest_s:
        return [f"{found.path} gave no good answer for {found.longest_gap:.3f} s, more than {slowest_s:g} s"]
    return []


def doubts(
    found: Series,
    slowest_s: float,
    elsewhere: str = ELSEWHERE,
) -> list[str]:
    """Return what would be wrong if it were not for standing still ``elsewhere``."""
    found_doubts = []
    if found.lost:
        found_doubts.append(f"{found.path} did not answer {found.lost} of {found.expected} times, {elsewhere}")
    worst = max(found.slowest or 0.0, found.longest_gap)
    if worst > slowest_s and not too_slow(found, slowest_s):
        found_doubts.append(f"{found.path} once took {worst:.3f} s, {elsewhere}")
    return found_doubts
