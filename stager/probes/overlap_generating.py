"""Claim 2: were N streams between their first and their last token at the same time? Pure.

Definition: the largest k with max(first token) < min(last token) over k streams, all ending as expected,
with usage (fak 12163; AIPerf's sweep line). The engine's own gauge must agree where it has a measured one,
and can never carry the claim alone.
"""

from __future__ import annotations

from stager.engines.base import Engine
from stager.probes.ends import judge_ends, why_broken
from stager.probes.gauges import GaugeSamples
from stager.probes.judgement import Judgement
from stager.probes.overlap_data import Overflow, OverlapData
from stager.probes.statistics import Shared, generating_at_once, shared_span, within

#: Tokens every stream must still bring after the last stream's first one; fewer, and the overlap may be an accident.
LEAST_TOKENS = 64

#: The shared span must be this many times the spread of the starts.
LEAST_SPANS = 10

#: Gauge samples that must lie inside the shared span before the gauge counts as asked.
LEAST_GAUGE_SAMPLES = 5


def judge_generating(data: OverlapData, engine: Engine) -> Judgement:
    """Judge claim 2 from what the experiment saw."""
    judgement = Judgement()
    timing = data.timing
    span = shared_span(timing.arrivals)
    at_once = generating_at_once(timing.arrivals)
    _measure(judgement, data, span, at_once)
    judge_ends(judgement, data.completions, engine, data.expected_tokens)
    if judgement.broken:
        pass  # nothing below means anything
    elif timing.flushed:
        judgement.hinder(timing.flushed)
    elif at_once < data.streams:
        _fewer(judgement, data, at_once)
    else:
        _long_enough(judgement, data, span)
        judgement.support(
            f"{at_once} of {data.streams} streams were between first and last token at once for {span.seconds:.2f} s"
        )
    _gauge(judgement, data, span, at_once)
    _overflow(judgement, data.overflow)
    _limits(judgement, data)
    return judgement


def _measure(judgement: Judgement, data: OverlapData, span: Shared, at_once: int) -> None:
    arrivals = data.timing.arrivals
    judgement.measure("streams", data.streams, "count")
    judgement.measure("generating_at_once", at_once, "count")
    judgement.measure("shared_span", span.seconds, "s")
    judgement.measure("start_spread", data.start_spread * 1000, "ms")
    judgement.measure("connections_warmed", data.warmed, "count")
    judgement.measure("connections_reused", sum(c.reused_connection for c in data.completions), "count")
    judgement.measure("token_arrivals", sum(map(len, arrivals)), "count")
    judgement.measure("completion_tokens", sum(c.completion_tokens or 0 for c in data.completions), "count")
    judgement.measure("protocol_faults", sum(len(c.faults) for c in data.completions), "count")
    for name, values in (
        ("ttft", [c.ttft for c in data.completions if c.ttft is not None]),
        ("control_ttft", [c.ttft for c in data.controls if c.ttft is not None]),
    ):
        if values:
            judgement.measure(f"{name}_min", min(values), "s")
            judgement.measure(f"{name}_max", max(values), "s")


def _fewer(judgement: Judgement, data: OverlapData, at_once: int) -> None:
    """Fewer than N at once: a refutation, if each stream was long against the waits before first tokens."""
    prefills = min((c.ttft for c in data.controls if c.ttft is not None), default=0.0) * data.streams
    lengths = [(times[-1] - times[0]) / 1e9 for times in data.timing.arrivals if times]
    if lengths and prefills > min(lengths):
        judgement.hinder(
            f"only {at_once} of {data.streams} streams generated at once, but {data.streams} prefills one after "
            f"the other take {prefills:.2f} s and the shortest stream lasts {min(lengths):.2f} s: ask for more tokens"
        )
        return
    words = "one after the other" if at_once == 1 else f"at most {at_once} at once"
    gauge = data.gauge.peak if data.gauge else None
    also = f"; the gauge read {gauge:g} meanwhile, so it counts admissions" if gauge and gauge > at_once else ""
    judgement.refute(f"{data.streams} streams were accepted and generated {words}{also}")


def _long_enough(judgement: Judgement, data: OverlapData, span: Shared) -> None:
    left = min(len(within(times, span)) for times in data.timing.arrivals)
    judgement.measure("tokens_in_shared_span_min", left, "count")
    if left < LEAST_TOKENS:
        judgement.hinder(f"a stream had only {left} tokens in the shared span; {LEAST_TOKENS} are needed")
    if span.seconds < LEAST_SPANS * data.start_spread:
        judgement.hinder(
            f"the shared span of {span.seconds:.3f} s is less than {LEAST_SPANS} times the start spread "
            f"of {data.start_spread:.3f} s"
        )


def _gauge(judgement: Judgement, data: OverlapData, span: Shared, at_once: int) -> None:
    gauge = data.gauge
    if gauge is None:
        judgement.not_proven("that the engine itself counts these streams as active: it shows no gauge")
        return
    inside, count = gauge.peak_between(span.begin, span.end)
    judgement.measure("gauge_peak", gauge.peak, "requests")
    judgement.measure("gauge_samples_expected", gauge.expected, "count")
    judgement.measure("gauge_samples_obtained", gauge.obtained, "count")
    judgement.measure("gauge_samples_in_shared_span", count, "count")
    judgement.measure("gauge_interval", gauge.interval * 1000, "ms")
    if not gauge.measured:
        judgement.not_proven(f"anything by {gauge.where}: it is configured or computed, not measured")
        return
    judgement.not_proven(f"anything by {gauge.where} alone: it is the engine's own word, and had only to agree")
    if judgement.refuted or judgement.broken or at_once < data.streams:
        return
    if data.idle_before is False:
        judgement.hinder(f"{gauge.where} was not zero before the first request: other work, or a stuck gauge")
    if data.idle_after is False:
        judgement.hinder(f"{gauge.where} did not come back to zero after the last stream: a ghost, or a stuck gauge")
    if count < LEAST_GAUGE_SAMPLES or inside is None:
        judgement.hinder(_too_few(gauge, count))
    elif inside < at_once:
        judgement.hinder(f"the gauge read at most {inside:g} while {at_once} streams generated: it is stale or wrong")
    elif inside > data.streams:
        judgement.hinder(f"the gauge read {inside:g} with only {data.streams} streams of ours: other work, or wrong")


def _too_few(gauge: GaugeSamples, count: int) -> str:
    missing = gauge.expected - gauge.obtained
    return (
        f"only {count} gauge samples lie in the shared span ({missing} of {gauge.expected} were not answered; "
        f"{LEAST_GAUGE_SAMPLES} are needed)"
    )


def _overflow(judgement: Judgement, overflow: Overflow | None) -> None:
    """One request above the slot count must wait and then be served."""
    if overflow is None:
        judgement.not_proven("what happens to a request above the slot count: it was not tried")
        return
    arrivals = [[delta.at_ns for delta in c.deltas] for c in overflow.completions]
    at_once = generating_at_once(arrivals)
    judgement.measure("overflow_requests", len(overflow.completions), "count")
    judgement.measure("overflow_generating_at_once", at_once, "count")
    judgement.measure("overflow_served", sum(c.whole and bool(c.deltas) for c in overflow.completions), "count")
    if judgement.broken:
        return
    if reason := why_broken(overflow.completions):
        judgement.breaks(f"the run above the slot count: {reason}")
        return
    waits = sorted(c.ttft for c in overflow.completions if c.ttft is not None)
    if waits:
        judgement.measure("overflow_ttft_max", waits[-1], "s")
    for completion in overflow.completions:
        if not completion.whole or not completion.deltas:
            why = completion.error or completion.ended.value
            judgement.refute(f"of {overflow.slots + 1} requests on {overflow.slots} slots one was not served: {why}")


def _limits(judgement: Judgement, data: OverlapData) -> None:
    judgement.not_proven(
        "that the streams share the device's steps: time-slicing also keeps all of them generating "
        "(see the claim `executing`)"
    )
    judgement.not_proven(
        f"more than {data.streams} at once, longer prompts, a private context window for each, or the answers' quality"
    )
