"""From completion records to arrival times, and whether those can be timed at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stager.client.record import Completion
from stager.probes.statistics import burst_share

#: More gaps than this share being no gaps: the stream was buffered, and its times are the buffer's.
MOST_BURSTS = 0.5

#: At least this share of the tokens must have come in a chunk of their own; fewer, and chunks are not steps.
LEAST_CHUNKS = 0.7


@dataclass(frozen=True, slots=True)
class Timing:
    """The arrival times of some streams (ns, per stream) and, in words, what speaks against judging by them.

    ``flushed``: tokens were held back, so no time means anything. ``coalesced``: several tokens share a chunk,
    so chunks are not steps. Empty: nothing speaks against it.
    """

    arrivals: tuple[tuple[int, ...], ...]
    flushed: str
    coalesced: str


def timing(completions: Sequence[Completion]) -> Timing:
    """Take the times of all non-empty output, and say where the streams' form forbids a verdict on time."""
    arrivals = tuple(tuple(delta.at_ns for delta in completion.deltas) for completion in completions)
    flushed = coalesced = ""
    bursts = burst_share(arrivals)
    if bursts > MOST_BURSTS:
        flushed = f"{bursts:.0%} of the gaps between tokens are none: the streams were held back and flushed"
    chunks = sum(len(times) for times in arrivals)
    tokens = sum(completion.completion_tokens or 0 for completion in completions)
    if tokens and chunks / tokens < LEAST_CHUNKS:
        coalesced = f"{tokens} tokens came in {chunks} chunks, so a chunk is not a step"
    return Timing(arrivals, flushed, coalesced)
