"""The overlap probe: N streams at once, and three claims kept apart.

``configured`` is recorded as fields beside the evidence. ``generating`` and ``executing`` each get a finding.
This file does the experiment; the judging is pure and lies in ``overlap_generating`` and ``overlap_executing``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import CompletionRequest
from stager.client.connection import Connection, connect
from stager.client.limits import Limits
from stager.client.load import LoadResult, run_load
from stager.client.record import Completion
from stager.engines.reading import Reading
from stager.models.base import Model
from stager.models.evidence import Finding
from stager.probes import arrivals, calibration, ends, overlap_executing, overlap_generating, statistics
from stager.probes.ask import configured_fields, first_that_answers, gauge_words
from stager.probes.base import ProbeResult
from stager.probes.gauges import GaugeSamples, gauge_samples, sampled_gauge, wait_idle
from stager.probes.judgement import Judgement
from stager.probes.overlap_data import Overflow, OverlapData
from stager.probes.prompts import fresh_tag, unique_prompt
from stager.probes.raw import raw_document
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


class OverlapProbe:
    """N streams released together, a single stream before and after, a gauge sampled meanwhile."""

    name = "overlap"
    version = 1
    claims = ("generating", "executing")
    parameters = OverlapParameters
    thresholds: Mapping[str, Any] = {
        "least_tokens": overlap_generating.LEAST_TOKENS,
        "least_spans": overlap_generating.LEAST_SPANS,
        "least_gauge_samples": overlap_generating.LEAST_GAUGE_SAMPLES,
        "token_tolerance": ends.TOKEN_TOLERANCE,
        "steps_show": overlap_executing.STEPS_SHOW,
        "steps_refute": overlap_executing.STEPS_REFUTE,
        "co_arrival_shows": overlap_executing.CO_ARRIVAL_SHOWS,
        "co_arrival_refutes": overlap_executing.CO_ARRIVAL_REFUTES,
        "least_streams": overlap_executing.LEAST_STREAMS,
        "foreign_tokens": overlap_executing.FOREIGN_TOKENS,
        "window": statistics.WINDOW,
        "burst_ns": statistics.BURST_NS,
        "most_bursts": arrivals.MOST_BURSTS,
        "least_chunks": arrivals.LEAST_CHUNKS,
        "most_jitter": calibration.MOST_JITTER,
        "most_faked": calibration.MOST_FAKED,
    }

    def time_limit(self, parameters: OverlapParameters) -> float:
        """A minute, and half a second for each token of each run, unless the parameters say otherwise."""
        return parameters.time_limit_s or 60.0 + 0.5 * parameters.max_tokens * parameters.streams

    async def run(self, target: Target, parameters: OverlapParameters) -> tuple[ProbeResult, ...]:
        """Do the experiment and judge both claims."""
        begun = datetime.now(UTC)
        configured = await configured_fields(target)
        data, gauge = await _Experiment(target, parameters, self.time_limit(parameters)).run()
        found = data.calibration
        vantage = target.vantage(
            path_latency_ms=found.latency_ms if found else None,
            client_jitter_ms=found.jitter_ms if found else None,
            calibration=found.document() if found else {"missing": data.calibration_fault},
        )
        raw = json.dumps(raw_document(data), separators=(",", ":")).encode()
        over = datetime.now(UTC)

        def finding(claim: str, judgement: Judgement, sampled: str, count: int) -> ProbeResult:
            return ProbeResult(
                Finding(
                    claim=claim,
                    parameters=parameters.document(),
                    started_at=begun,
                    ended_at=over,
                    sampled=sampled,
                    sample_count=count,
                    termination=ends.termination(data.completions, target.engine),
                    measurements=judgement.measurements,
                    configured=configured,
                    verdict=judgement.verdict,
                    reasons=judgement.reasons,
                    not_proven=tuple(judgement.limits),
                ),
                vantage,
                raw,
            )

        tokens = sum(len(completion.deltas) for completion in data.completions)
        streams = f"first and last token of {data.streams} streams"
        times = (
            f"arrival times of {tokens} tokens in {data.streams} streams, {len(data.controls)} single-stream controls"
        )
        return (
            finding(
                "generating",
                overlap_generating.judge_generating(data, target.engine),
                f"{streams}, and {gauge_words(target.engine, gauge)}" if gauge else f"{streams}; no gauge",
                data.gauge.obtained if data.gauge else len(data.completions),
            ),
            finding(
                "executing",
                overlap_executing.judge_executing(data),
                f"{times}, and the engine's step counters at rest before and after" if data.steps else times,
                tokens,
            ),
        )


class _Experiment:
    """One go of the experiment: control, N streams, control, one above the slots, calibration."""

    def __init__(self, target: Target, parameters: OverlapParameters, limit: float) -> None:
        self._target = target
        self._parameters = parameters
        self._limits = Limits(total=limit, idle=limit)
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
