"""Asking endpoints at a fixed rate while a prompt is read, and a control on the host beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from stager.client.connection import connect
from stager.client.sampler import Samples, sampling
from stager.probes.calibration import source
from stager.probes.health_series import ELSEWHERE, Series
from stager.probes.requests import limits_for
from stager.probes.target import MetronomeOrder, Mode, Target

#: The control's name in the measurements and among the raw samples.
CONTROL = "control"
ANSWER_WITHIN_S = 30.0
_MOST_WAITING = 32


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen while the prompt was read: a series for each path, and the control's if there was one.

    ``elsewhere`` says in words what may have stood still in the engine's place.
    """

    found: Mapping[str, Series] = field(default_factory=dict)
    control: Series | None = None
    elsewhere: str = ELSEWHERE

    def of(self, paths: Sequence[str]) -> list[Series]:
        """The series of these paths, as far as there are any."""
        return [self.found[path] for path in paths if path in self.found]


@asynccontextmanager
async def control_sampled(target: Target, interval: float, seconds: float) -> AsyncIterator[Samples[int]]:
    """Sample a source on the host that does nothing but answer; it ends itself after so many seconds and a little.

    Raises:
        NoSource: it did not start.
    """
    order = MetronomeOrder(Mode.LOCK_STEP, 1000 * interval, 1, seconds + ANSWER_WITHIN_S)
    async with source(target, order) as url, sampled(url, "/health", interval) as samples:
        yield samples


@asynccontextmanager
async def sampled(base_url: str, path: str, interval: float) -> AsyncIterator[Samples[int]]:
    """Sample one endpoint's status every so many seconds, on connections of its own."""
    async with connect(base_url, limits_for(0, ANSWER_WITHIN_S), most=_MOST_WAITING) as connection:

        async def question() -> int:
            return (await connection.get(path, within=ANSWER_WITHIN_S)).status

        async with sampling(question, interval, most_waiting=_MOST_WAITING) as samples:
            yield samples
