"""Claim 3: does the engine advance the N streams in the same steps? Pure.

Two independent kinds of evidence, either of which can carry the claim: tokens per engine step between two idle
points, where the engine counts steps, and co-arrival of tokens against its stated null. Where they contradict
each other the claim never passes. Scaling T(N)/T(1) is always reported and never decides.
"""

from __future__ import annotations

from enum import StrEnum

from stager.probes.ends import why_broken
from stager.probes.judgement import Judgement
from stager.probes.overlap_data import OverlapData
from stager.probes.overlap_generating import LEAST_TOKENS
from stager.probes.statistics import (
    co_arrival,
    co_arrival_null,
    generating_at_once,
    median_gap,
    scaling,
    shared_span,
    switch_rate,
    throughput,
    within,
)

#: Tokens per step from this share of N on mean steps of full width; below N itself, since prefills take steps too.
STEPS_SHOW = 0.75

#: Below this share of N the steps were narrower than N.
STEPS_REFUTE = 0.6

#: Co-arrival from here on shows shared steps (simulated: batched 0.86 to 1.00 where jitter <= step/8).
CO_ARRIVAL_SHOWS = 0.8

#: Up to here it refutes them (simulated at N = 4: independent engines up to 0.21, time-slicing 0.00).
CO_ARRIVAL_REFUTES = 0.3

#: With fewer streams the null is too near to everything (0.5 at N = 2).
LEAST_STREAMS = 4

#: The engine may count this share more tokens than our streams brought before somebody else's work is suspected.
FOREIGN_TOKENS = 0.05

#: Interleaving from here on, without co-arrival, is called time-slicing.
_SLICED_SWITCHES = 0.8


class Word(StrEnum):
    """What one kind of evidence says."""

    SHOWS = "shows"
    REFUTES = "refutes"
    SILENT = "silent"


def judge_executing(data: OverlapData) -> Judgement:
    """Judge claim 3 from what the experiment saw."""
    judgement = Judgement()
    timing = data.timing
    at_once = generating_at_once(timing.arrivals)
    judgement.measure("streams", data.streams, "count")
    _scaling(judgement, data)
    if reason := why_broken(data.completions):
        judgement.breaks(reason)
    elif not all(timing.arrivals):
        judgement.refute("not every stream brought output, so they were not executed together")
    by_steps, step_words = _by_steps(judgement, data)
    by_times, time_words = _by_times(judgement, data)
    if not judgement.broken and not judgement.refuted:
        if at_once < data.streams and not timing.flushed and by_steps is not Word.SHOWS:
            judgement.refute(
                f"only {at_once} of {data.streams} streams generated at once, so no step advanced them all"
            )
        _decide(judgement, (by_steps, step_words), (by_times, time_words))
    _limits(judgement, data, by_steps)
    return judgement


def _decide(judgement: Judgement, steps: tuple[Word, str], times: tuple[Word, str]) -> None:
    """Weigh the two kinds: what is seen from outside, with a calibrated client, outranks the engine's own count."""
    if steps[0] is Word.SHOWS and times[0] is Word.REFUTES:
        judgement.refute(f"{times[1]}; the engine's own count says otherwise and is not to be believed ({steps[1]})")
        return
    if steps[0] is Word.REFUTES and times[0] is Word.SHOWS:
        judgement.hinder(f"the two kinds of evidence contradict each other: {steps[1]}; {times[1]}")
        return
    for word, reason in (steps, times):
        if word is Word.SHOWS:
            judgement.support(reason)
        elif word is Word.REFUTES:
            judgement.refute(reason)
    if steps[0] is times[0] is Word.SILENT:
        judgement.hinder(steps[1])
        judgement.hinder(times[1])


def _by_steps(judgement: Judgement, data: OverlapData) -> tuple[Word, str]:
    """What the engine's own step counters say."""
    window = data.steps
    if window is None or window.tokens_per_step is None:
        return Word.SILENT, f"no tokens per step: {data.step_source}"
    ours = sum(c.completion_tokens or 0 for c in data.completions)
    judgement.measure("engine_steps", window.steps, "count")
    judgement.measure("engine_tokens", window.tokens, "count")
    judgement.measure("tokens_per_step", window.tokens_per_step, "tokens/step")
    if window.tokens > ours * (1 + FOREIGN_TOKENS) + data.streams:
        return (
            Word.SILENT,
            f"the engine counted {window.tokens:g} tokens and our streams brought {ours}: other work ran",
        )
    if window.tokens < ours * (1 - FOREIGN_TOKENS) - data.streams:
        return Word.SILENT, f"the engine counted only {window.tokens:g} of our {ours} tokens: its counter is incomplete"
    words = (
        f"{window.tokens_per_step:.2f} tokens per engine step over {window.steps:g} steps, at {data.streams} streams"
    )
    if window.tokens_per_step >= STEPS_SHOW * data.streams:
        return Word.SHOWS, words
    if window.tokens_per_step < STEPS_REFUTE * data.streams:
        return Word.REFUTES, f"{words}: the steps were narrower than the streams were many"
    return Word.SILENT, f"{words}: neither clearly of full width nor clearly narrower"


def _by_times(judgement: Judgement, data: OverlapData) -> tuple[Word, str]:
    """What the arrival times say."""
    arrivals = data.timing.arrivals
    span = shared_span(arrivals)
    inside = [within(times, span) for times in arrivals]
    step = median_gap(inside)
    found = co_arrival(arrivals)
    switches = switch_rate(arrivals)
    if switches is not None:
        judgement.measure("switch_rate", switches, "ratio")
    if found is None or step is None:
        return Word.SILENT, "no co-arrival: the streams shared no span"
    share, tokens = found
    judgement.measure("co_arrival", share, "ratio")
    judgement.measure("co_arrival_null", co_arrival_null(data.streams), "ratio")
    judgement.measure("co_arrival_tokens", tokens, "count")
    judgement.measure("step", step / 1e6, "ms")
    hindrance = _untimeable(data, step / 1e6, min(map(len, inside)))
    if hindrance:
        return Word.SILENT, f"no verdict by co-arrival: {hindrance}"
    null = co_arrival_null(data.streams)
    words = f"co-arrival {share:.2f} over {tokens} tokens (independent engines: {null:.2f}, time-slicing: 0)"
    if share >= CO_ARRIVAL_SHOWS:
        return Word.SHOWS, words
    if share <= CO_ARRIVAL_REFUTES:
        sliced = switches is not None and switches >= _SLICED_SWITCHES and share <= null
        return Word.REFUTES, f"{words}: the streams {'take turns' if sliced else 'do not advance in the same steps'}"
    return Word.SILENT, f"{words}: neither clearly shared steps nor clearly not"


def _untimeable(data: OverlapData, step_ms: float, tokens: int) -> str:
    """The first reason why these times cannot be judged; empty if they can."""
    if data.streams < LEAST_STREAMS:
        return f"it needs {LEAST_STREAMS} streams, since {data.streams} independent ones already read half"
    reasons = [data.timing.flushed, data.timing.coalesced]
    if tokens < LEAST_TOKENS:
        reasons.append(f"a stream had only {tokens} tokens in the shared span; {LEAST_TOKENS} are needed")
    if data.calibration is None:
        reasons.append(f"the client was not calibrated: {data.calibration_fault}")
    else:
        reasons += [*data.calibration.against_timing(step_ms), *data.calibration.against_co_arrival()]
    return next((reason for reason in reasons if reason), "")


def _scaling(judgement: Judgement, data: OverlapData) -> None:
    together = throughput(data.timing.arrivals)
    alone = [rate for times in data.control_timing.arrivals if (rate := throughput([times])) is not None]
    if together is not None:
        judgement.measure("throughput_together", together, "tokens/s")
    if alone:
        judgement.measure("throughput_alone", sum(alone) / len(alone), "tokens/s")
        judgement.measure("controls", len(alone), "count")
    ratio = None
    if not data.timing.flushed and not data.control_timing.flushed:
        ratio = scaling(data.timing.arrivals, data.control_timing.arrivals)
    judgement.measure("scaling", ratio.value if ratio else None, "ratio")
    if ratio:
        judgement.measure("scaling_low", ratio.low, "ratio")
        judgement.measure("scaling_high", ratio.high, "ratio")


def _limits(judgement: Judgement, data: OverlapData, by_steps: Word) -> None:
    if by_steps is Word.SILENT:
        judgement.not_proven("shared steps from the engine's own count: only arrival times were seen from outside")
    judgement.not_proven(
        "which device kernel ran, or that the device was kept busy: steps are the engine's, not the GPU's"
    )
    judgement.not_proven("that batching pays: the scaling beside it is reported with its interval, and decides nothing")
    judgement.not_proven(
        f"more than {data.streams} streams, longer prompts, or steps while a prompt is being prefilled"
    )
