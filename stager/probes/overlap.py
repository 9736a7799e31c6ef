"""The overlap probe: N streams at once, and three claims kept apart.

``configured`` is recorded as fields beside the evidence. ``generating`` and ``executing`` each get a finding.
``overlap_experiment`` does the experiment; the judging is pure: ``overlap_generating``, ``overlap_executing``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from stager.models.evidence import Finding
from stager.probes import arrivals, calibration, ends, overlap_executing, overlap_generating, statistics
from stager.probes.ask import configured_fields, gauge_words
from stager.probes.base import ProbeResult
from stager.probes.judgement import Judgement
from stager.probes.overlap_experiment import Experiment, OverlapParameters
from stager.probes.raw import raw_document
from stager.probes.target import Target

__all__ = ["OverlapParameters", "OverlapProbe"]


class OverlapProbe:
    """N streams released together, a single stream before and after, a gauge sampled meanwhile."""

    name = "overlap"
    version = 2
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
        data, gauge = await Experiment(target, parameters, self.time_limit(parameters)).run()
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
