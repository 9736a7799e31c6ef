"""An open-loop sampler: it asks when the time has come, whether or not the last answer did.

A closed loop waits for a blocked server and so takes fewest samples exactly when the server is worst
(coordinated omission; wrk2's README). Here every sample has its intended time, and a missing one shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from stager.client.ticks import ticks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sample(Generic[T]):
    """One question: when it was due, when it went out, when it was answered (``perf_counter_ns``), and with what.

    Exactly one of ``value`` and ``error`` means something: ``error`` is None for an answered sample.
    """

    intended_ns: int
    asked_ns: int
    answered_ns: int
    value: T | None
    error: str | None

    @property
    def ok(self) -> bool:
        """Whether the question was answered."""
        return self.error is None

    @property
    def latency(self) -> float:
        """Seconds from the *intended* time to the answer: a late question counts as waiting."""
        return (self.answered_ns - self.intended_ns) / 1e9


@dataclass(slots=True)
class Samples(Generic[T]):
    """All samples of one run; grows while sampling goes on, and is complete when it has ended."""

    interval: float
    begun_ns: int = 0
    ended_ns: int = 0
    expected: int = 0
    taken: list[Sample[T]] = field(default_factory=list)

    @property
    def obtained(self) -> int:
        """How many questions were answered. Never take the rest as "not busy"."""
        return sum(sample.ok for sample in self.taken)

    @property
    def errors(self) -> list[Sample[T]]:
        """The samples that were not answered."""
        return [sample for sample in self.taken if not sample.ok]

    @property
    def values(self) -> list[T]:
        """The answered values, in the order of their intended times."""
        good = sorted((s for s in self.taken if s.ok), key=lambda s: s.intended_ns)
        return [sample.value for sample in good]  # type: ignore[misc]

    @property
    def latencies(self) -> list[float]:
        """Seconds per answered sample, from its intended time."""
        return [sample.latency for sample in self.taken if sample.ok]

    def between(self, begin_ns: int, end_ns: int) -> list[Sample[T]]:
        """The answered samples that were asked and answered within a span of time."""
        return [s for s in self.taken if s.ok and begin_ns <= s.asked_ns and s.answered_ns <= end_ns]

    @property
    def longest_gap(self) -> float:
        """The longest time in seconds without a good answer, the run's begin and end included."""
        times = [self.begun_ns, *sorted(s.answered_ns for s in self.taken if s.ok), self.ended_ns]
        return max((b - a for a, b in pairwise(times)), default=0) / 1e9


@asynccontextmanager
async def sampling(
    ask: Callable[[], Awaitable[T]], interval: float, *, most_waiting: int = 64, grace: float = 2.0
) -> AsyncIterator[Samples[T]]:
    """Ask every ``interval`` seconds while the body runs.

    Args:
        ask: one question; whatever it raises becomes that sample's error.
        interval: seconds between intended times.
        most_waiting: questions that may be unanswered at once; beyond it a due one is recorded as not asked.
        grace: seconds that open questions get after the body has ended.
    """
    samples: Samples[T] = Samples(interval, begun_ns=ticks())
    waiting: set[asyncio.Task[None]] = set()
    driver = asyncio.ensure_future(_drive(ask, samples, waiting, most_waiting))
    try:
        yield samples
    finally:
        driver.cancel()
        await asyncio.gather(driver, return_exceptions=True)
        samples.ended_ns = ticks()
        left = list(waiting)
        if left:
            await asyncio.wait(left, timeout=grace)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        samples.taken.sort(key=lambda sample: sample.intended_ns)


async def _drive(
    ask: Callable[[], Awaitable[T]], samples: Samples[T], waiting: set[asyncio.Task[None]], most_waiting: int
) -> None:
    step = round(samples.interval * 1e9)
    while True:
        intended = samples.begun_ns + samples.expected * step
        await asyncio.sleep(max(0.0, (intended - ticks()) / 1e9))
        samples.expected += 1
        if sum(not task.done() for task in waiting) >= most_waiting:
            now = ticks()
            samples.taken.append(Sample(intended, now, now, None, f"not asked: {most_waiting} questions are open"))
            continue
        task = asyncio.ensure_future(_one(ask, intended, samples))
        waiting.add(task)
        task.add_done_callback(waiting.discard)


async def _one(ask: Callable[[], Awaitable[T]], intended: int, samples: Samples[T]) -> None:
    asked = ticks()
    try:
        value = await ask()
    except asyncio.CancelledError:
        samples.taken.append(Sample(intended, asked, ticks(), None, "unanswered when sampling ended"))
        raise
    except Exception as error:  # noqa: BLE001  a sample's failure is a result, not a fault of ours
        words = f"{type(error).__name__}: {error}".rstrip(": ")
        samples.taken.append(Sample(intended, asked, ticks(), None, words[:300]))
    else:
        samples.taken.append(Sample(intended, asked, ticks(), value, None))
