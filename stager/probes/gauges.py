"""Sampling a gauge while something runs, and what its samples say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from stager.client.connection import Connection, connect
from stager.client.limits import Limits
from stager.client.sampler import Samples, sampling
from stager.client.ticks import ticks
from stager.engines.reading import Reading
from stager.probes.ask import NO_ANSWER, ask

#: A gauge's own answer may take so long at most, in seconds.
ANSWER_LIMIT = 10.0

_MOST_WAITING = 32


@dataclass(frozen=True, slots=True)
class GaugeSamples:
    """What was sampled of one gauge; ``values`` are (asked, answered, value), times in ns, only the answered ones."""

    where: str
    measured: bool
    interval: float
    expected: int
    values: tuple[tuple[int, int, float], ...]
    errors: tuple[str, ...]

    @property
    def obtained(self) -> int:
        """How many questions were answered."""
        return len(self.values)

    @property
    def peak(self) -> float | None:
        """The largest value seen, None without samples."""
        return max((value for _, _, value in self.values), default=None)

    def peak_between(self, begin: int, end: int) -> tuple[float | None, int]:
        """The largest value among samples asked and answered within a span, and how many those were."""
        inside = [value for asked, answered, value in self.values if begin <= asked and answered <= end]
        return max(inside, default=None), len(inside)


def gauge_samples(reading: Reading, samples: Samples[float]) -> GaugeSamples:
    """Freeze what a sampler gathered."""
    good = [(s.asked_ns, s.answered_ns, s.value) for s in samples.taken if s.ok and s.value is not None]
    return GaugeSamples(
        where=reading.where,
        measured=reading.kind.value == "measured",
        interval=samples.interval,
        expected=samples.expected,
        values=tuple(good),
        errors=tuple(sample.error or "" for sample in samples.errors),
    )


@asynccontextmanager
async def sampled_gauge(base_url: str, reading: Reading, interval: float) -> AsyncIterator[Samples[float]]:
    """Sample a gauge, open-loop, while the body runs."""
    limits = Limits(connect=5.0, idle=ANSWER_LIMIT, total=ANSWER_LIMIT)
    async with connect(base_url, limits, most=_MOST_WAITING) as connection:

        async def question() -> float:
            return await ask(connection, reading, ANSWER_LIMIT)

        async with sampling(question, interval, most_waiting=_MOST_WAITING) as samples:
            yield samples


async def wait_idle(connection: Connection, readings: Sequence[Reading], within: float) -> bool:
    """Wait until every given gauge reads zero twice in a row; False if that took longer than ``within`` seconds."""
    end = ticks() + round(within * 1e9)
    zeros = 0
    while zeros < 2:
        try:
            zeros = zeros + 1 if all([await ask(connection, reading) == 0 for reading in readings]) else 0
        except NO_ANSWER:
            zeros = 0
        if ticks() > end:
            return False
        if zeros < 2:
            await asyncio.sleep(0.05)
    return True
