"""Tokens per engine step: the nearest thing to a proof from inside, between two idle points."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stager.client.connection import Connection
from stager.engines.base import StepCounter
from stager.probes.ask import NO_ANSWER, ask

_SETTLE_S = 0.05
_SETTLE_ASKS = 30


@dataclass(frozen=True, slots=True)
class Count:
    """Both counters at one idle moment."""

    tokens: float
    steps: float


@dataclass(frozen=True, slots=True)
class StepWindow:
    """The counters' growth over a window that began and ended idle.

    ``tokens`` are output tokens (prompt tokens taken off where the engine counts both).
    """

    tokens: float
    steps: float

    @property
    def tokens_per_step(self) -> float | None:
        """Output tokens per engine step, None where the engine made no step."""
        return self.tokens / self.steps if self.steps > 0 else None


async def settled_count(connection: Connection, counter: StepCounter) -> Count | None:
    """Read both counters until they stand still; None where the engine does not show them."""
    before: Count | None = None
    for _ in range(_SETTLE_ASKS):
        try:
            now = Count(await ask(connection, counter.tokens), await ask(connection, counter.steps))
        except NO_ANSWER:
            return None
        if now == before:
            return now
        before = now
        await asyncio.sleep(_SETTLE_S)
    return None


def window(counter: StepCounter, begin: Count | None, end: Count | None, prompt_tokens: int) -> StepWindow | None:
    """The growth between two counts; None where either is missing or a counter went backwards (a restart)."""
    if begin is None or end is None:
        return None
    tokens = end.tokens - begin.tokens - (prompt_tokens if counter.includes_prompt else 0)
    steps = end.steps - begin.steps
    return StepWindow(tokens, steps) if tokens >= 0 and steps >= 0 else None
