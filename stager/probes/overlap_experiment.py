"""Does the overlap experiment: control, N streams, control, one above the slots, calibration. Judges nothing."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated

from pydantic import Field

from stager.client.completion import CompletionRequest
from stager.client.connection import Connection, connect
from stager.client.limits import Limits
from stager.client.load import LoadResult, run_load
from stager.client.record import Completion
from stager.engines.reading import Reading
from stager.models.base import Model
from stager.probes import arrivals, calibration
from stager.probes.ask import first_that_answers
from stager.probes.gauges import GaugeSamples, gauge_samples, sampled_gauge, wait_idle
from stager.probes.overlap_data import Overflow, OverlapData
from stager.probes.prompts import fresh_tag, unique_prompt
from stager.probes.statistics import median_gap, shared_span, within
from stager.probes.steps import settled_count, window
from stager.probes.target import Target

#: Seconds the engine gets to come to rest before and after.
IDLE_LIMIT = 10.0

_GAUGE_SAMPLES_WANTED = 40
_INTERVALS = (0.02, 0.25)


class OverlapParameters(Model):
    """How many streams, how long, and how far apart the gauge is sampled (None: about 40 samples per run)."""

    streams: Annotated[int, Field(ge=2, le=256)] = 4
    max_tokens: Annotated[int, Field(ge=80, le=4096)] = 200
    prompt_words: Annotated[int, Field(ge=4, le=4000)] = 40
    sample_every_ms: Annotated[float, Field(ge=5, le=10_000)] | None = None
    overflow: bool = True
    time_limit_s: Annotated[float, Field(gt=0)] | None = None


def bounds(max_tokens: int, seconds: float) -> Limits:
    """What one stream may cost: generous for any honest engine, and soon reached by an endless one."""
    size = (1 << 20) + 4096 * max_tokens
    return Limits(
        line=1 << 18,
        event=1 << 18,
        events=1000 + 4 * max_tokens,
        reads=2000 + 8 * max_tokens,
        body=size,
        raw=size,
        idle=seconds,
        total=seconds,
    )


class Experiment:
    """One go of it on one target."""

    def __init__(self, target: Target, parameters: OverlapParameters, limit: float) -> None:
        self._target = target
        self._parameters = parameters
        self._limits = bounds(parameters.max_tokens, limit)
        self._tag = fresh_tag()
        self._sent = 0

    async def run(self) -> tuple[OverlapData, Reading | None]:
        """Return what was seen, and the gauge that was sampled."""
        target, parameters, engine = self._target, self._parameters, self._target.engine
        async with connect(target.base_url) as asking:
            gauge = await first_that_answers(asking, engine.active)
            resting = [gauge] if gauge else []
            idle_before = await wait_idle(asking, resting, IDLE_LIMIT) if gauge else None
            first = await self._together(1, parameters.max_tokens // 2)
            before = await settled_count(asking, engine.steps) if engine.steps else None
            load, samples = await self._sampled(gauge, self._interval(first.completions[0]))
            idle_after = await wait_idle(asking, resting, IDLE_LIMIT) if gauge else None
            after = await settled_count(asking, engine.steps) if engine.steps and before else None
            second = await self._together(1, parameters.max_tokens // 2)
            overflow = await self._overflow(asking, resting)
        found, fault = await self._calibrate(load)
        prompt_tokens = sum(completion.prompt_tokens or 0 for completion in load.completions)
        steps = window(engine.steps, before, after, prompt_tokens) if engine.steps else None
        return (
            OverlapData(
                streams=parameters.streams,
                claimed_slots=target.claims.slots,
                completions=load.completions,
                controls=(*first.completions, *second.completions),
                start_spread=load.spread,
                warmed=load.warmed,
                expected_tokens=parameters.max_tokens if engine.exact_length else None,
                gauge=samples,
                idle_before=idle_before,
                idle_after=idle_after,
                steps=steps,
                step_source=engine.steps.source if engine.steps else f"{engine.name} shows no step counter",
                overflow=overflow,
                calibration=found,
                calibration_fault=fault,
            ),
            gauge,
        )

    async def _together(self, streams: int, max_tokens: int) -> LoadResult:
        return await run_load(
            self._target.base_url,
            [self._request(max_tokens) for _ in range(streams)],
            self._target.engine.warm,
            self._limits,
        )

    async def _sampled(self, gauge: Reading | None, interval: float) -> tuple[LoadResult, GaugeSamples | None]:
        async with AsyncExitStack() as stack:
            samples = None
            if gauge:
                samples = await stack.enter_async_context(sampled_gauge(self._target.base_url, gauge, interval))
            load = await self._together(self._parameters.streams, self._parameters.max_tokens)
        return load, gauge_samples(gauge, samples) if gauge and samples else None

    async def _overflow(self, asking: Connection, resting: list[Reading]) -> Overflow | None:
        """Try one request above the slot count, unless the main run already was above it."""
        slots = self._target.claims.slots
        if not self._parameters.overflow or not slots or slots < self._parameters.streams:
            return None
        if resting:
            await wait_idle(asking, resting, IDLE_LIMIT)
        load = await self._together(slots + 1, max(16, self._parameters.max_tokens // 8))
        return Overflow(slots, load.completions)

    async def _calibrate(self, load: LoadResult) -> tuple[calibration.Calibration | None, str]:
        times = arrivals.timing(load.completions).arrivals
        span = shared_span(times)
        step = median_gap([within(one, span) for one in times]) or median_gap(times)
        if not step:
            return None, "the streams showed no step to calibrate for"
        try:
            return await calibration.calibrate(self._target, self._parameters.streams, step / 1e6), ""
        except calibration.NoSource as fault:
            return None, str(fault)

    def _request(self, max_tokens: int) -> CompletionRequest:
        self._sent += 1
        prompt = unique_prompt(self._tag, self._sent, self._parameters.prompt_words)
        path, body = self._target.engine.generation(self._target.model, prompt, max_tokens=max_tokens)
        return CompletionRequest(path, body)

    def _interval(self, control: Completion) -> float:
        """Seconds between gauge samples: about 40 in the time one stream takes alone."""
        if self._parameters.sample_every_ms:
            return self._parameters.sample_every_ms / 1000
        length = (control.ended_ns - control.started_ns) / 1e9 * 2
        return min(max(length / _GAUGE_SAMPLES_WANTED, _INTERVALS[0]), _INTERVALS[1])
