"""While a long prompt is read, health must stay readable, and so must every endpoint that serves as evidence.

Sampling is open-loop: a question goes out when it is due, whether or not the last one was answered. The control is a
source on the host that does nothing but answer, asked over the same path at the same rate: what it misses too is no
fault of the engine's, and without it no answer is called too slow.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any

from pydantic import Field

from stager.client.connection import connect
from stager.client.record import Completion
from stager.client.sampler import Samples
from stager.models.base import Model
from stager.models.evidence import ConfiguredField
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.calibration import NoSource
from stager.probes.counting import NoCount, expected_tokens, sentences, take_measure
from stager.probes.gauges import wait_idle
from stager.probes.health_sampling import ANSWER_WITHIN_S, CONTROL, Watched, control_sampled, sampled
from stager.probes.health_series import (
    ELSEWHERE,
    LEAST_SAMPLES,
    SLOWEST_S,
    STALL_NS,
    UNKNOWN,
    Series,
    doubts,
    failures,
    series,
    standstills,
    too_slow,
)
from stager.probes.logbook import Logbook, sketch
from stager.probes.longprompt import USAGE_TOLERANCE, usage_off
from stager.probes.requests import ask_once, chat_request, limits_for
from stager.probes.target import Target

#: Half the claimed window, and no more than reads in about a minute on a slow card.
WINDOW_SHARE = 0.5
MOST_DEFAULT_TOKENS = 16_384
UNKNOWN_WINDOW_TOKENS = 2048
RATE_HZ = 10.0
#: Share of the prompt that a cache may have answered for; the rest was read while we watched.
MOST_CACHED = 0.1
MAX_TOKENS = 8
TIMEOUT_S = 600.0


class HealthParameters(Model):
    """Prompt length in tokens (default: half the window), questions a second, the slowest answer and patience in s."""

    prompt_tokens: Annotated[int, Field(ge=64)] | None = None
    rate_hz: Annotated[float, Field(gt=0, le=200)] = RATE_HZ
    slowest_s: Annotated[float, Field(gt=0)] = SLOWEST_S
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class HealthProbe:
    """Sends one long prompt and asks the health endpoint and the gauges' endpoints meanwhile."""

    name = "health"
    version = 3
    claims = ("readable", "gauges-readable")
    parameters = HealthParameters
    thresholds: Mapping[str, Any] = {
        "slowest_s": SLOWEST_S,
        "least_samples": LEAST_SAMPLES,
        "stall_ns": STALL_NS,
        "usage_tolerance": USAGE_TOLERANCE,
        "most_cached": MOST_CACHED,
    }

    def time_limit(self, parameters: HealthParameters) -> float:
        """The long answer, the counting, and the wait for idleness."""
        return 2 * parameters.timeout + 3 * ANSWER_WITHIN_S

    async def run(self, target: Target, parameters: HealthParameters) -> tuple[ProbeResult, ...]:
        """Return a finding for the health endpoint and one for the endpoints behind the gauges."""
        book, gauges = Logbook("readable", parameters), Logbook("gauges-readable", parameters)
        paths = evidence_paths(target)
        watched = Watched()
        try:
            watched = await _experiment(target, parameters, book, (target.engine.health, *paths))
        except NoCount as error:
            for one in (book, gauges):
                error.note(one, "the prompt's length cannot be aimed at")
        slowest = parameters.slowest_s + target.engine.health_floor
        _judge(book, watched, [target.engine.health], slowest)
        if not paths:
            gauges.doubt(f"{target.engine.name} has no endpoint with a gauge")
        else:
            gauges.streams, gauges.raw = book.streams, book.raw
            _judge(gauges, watched, paths, slowest)
        configured = await configured_fields(target)
        return (
            _result(target, book, watched, [target.engine.health], configured),
            _result(target, gauges, watched, paths, configured),
        )


def evidence_paths(target: Target) -> tuple[str, ...]:
    """Return the endpoints whose numbers serve as evidence, each once, without the health endpoint itself."""
    engine = target.engine
    readings = [*engine.active, *engine.waiting, *engine.busy]
    if engine.steps is not None:
        readings += [engine.steps.tokens, engine.steps.steps]
    return tuple(dict.fromkeys(r.path for r in readings if r.path != engine.health))


async def _experiment(target: Target, parameters: HealthParameters, book: Logbook, paths: tuple[str, ...]) -> Watched:
    rng = random.Random()
    yardstick = await take_measure(target, rng, parameters.timeout)
    window = target.claims.context
    default = min(MOST_DEFAULT_TOKENS, round(WINDOW_SHARE * window)) if window else UNKNOWN_WINDOW_TOKENS
    wanted = parameters.prompt_tokens or default
    count = yardstick.sentences_for(wanted)
    text = " ".join(sentences(rng, count))
    sent = await expected_tokens(target, yardstick, text, count, parameters.timeout)
    request = chat_request(target, text, max_tokens=MAX_TOKENS)
    runs: dict[str, Samples[int]] = {}
    interval = 1 / parameters.rate_hz
    control, uncontrolled = Samples[int](interval), ""
    async with AsyncExitStack() as stack:
        try:
            control = await stack.enter_async_context(control_sampled(target, interval, parameters.timeout))
        except NoSource as fault:
            uncontrolled = f"but it may have been the path, which had no control: {fault}"
        for path in paths:
            runs[path] = await stack.enter_async_context(sampled(target.base_url, path, interval))
        completion = await ask_once(target, request, parameters.timeout)
    book.measure("prompt_tokens", completion.prompt_tokens, "tokens")
    book.raw["answer"] = sketch(completion)
    for path, run in {**runs, CONTROL: control}.items():
        book.raw[path] = [[s.intended_ns, s.asked_ns, s.answered_ns, s.value, s.error] for s in run.taken]
    if not book.usable(completion, "the long prompt"):
        return Watched()
    begin, end = _reading_span(completion)
    book.measure("prefill", (end - begin) / 1e9, "s")
    if (off := usage_off(completion.prompt_tokens, sent)) is not None:
        book.doubt(f"not all of the prompt was read: {off}")
    if completion.usage is not None and (cached := completion.usage.cached_tokens or 0) > MOST_CACHED * sent:
        book.doubt(f"{cached} of {sent:.0f} prompt tokens came from a cache and were not read")
    await _idle_again(target, book)
    elsewhere = UNKNOWN if uncontrolled else standstills((run.taken for run in runs.values()), control.taken)
    return Watched(
        {path: series(path, run.taken, begin, end, elsewhere) for path, run in runs.items()},
        None if uncontrolled else series(CONTROL, control.taken, begin, end),
        uncontrolled or ELSEWHERE,
    )


def _reading_span(completion: Completion) -> tuple[int, int]:
    begin = completion.sent_ns or completion.started_ns
    return begin, completion.first_token_ns or completion.ended_ns


async def _idle_again(target: Target, book: Logbook) -> None:
    """A health check that itself generates may leave an orphan behind (sglang 35884)."""
    if not target.engine.active:
        return
    within = target.engine.cancel_grace + target.engine.health_floor
    async with connect(target.base_url, limits_for(0, within + 1)) as connection:
        book.measure("idle_afterwards", await wait_idle(connection, target.engine.active[:1], within), "bool")


def _judge(book: Logbook, watched: Watched, paths: Sequence[str], slowest_s: float) -> None:
    for one in watched.of(paths):
        key = one.path.strip("/").replace("/", "_") or "root"
        book.measure(f"{key}_expected", one.expected, "count")
        book.measure(f"{key}_obtained", one.obtained, "count")
        book.measure(f"{key}_errors", len(one.errors) + one.lost, "count")
        _measure_times(book, key, one)
        for wrong in (*failures(one), *too_slow(one, slowest_s)):
            book.fail(wrong)
        for doubt in doubts(one, slowest_s, watched.elsewhere):
            book.doubt(doubt)
        if one.expected < LEAST_SAMPLES:
            book.doubt(f"only {one.expected} questions were due while the prompt was read, {LEAST_SAMPLES} are needed")
    if watched.control is not None:
        _measure_times(book, CONTROL, watched.control)


def _measure_times(book: Logbook, key: str, one: Series) -> None:
    for name, value in (("p50", one.quantile(0.5)), ("p99", one.quantile(0.99)), ("max", one.slowest)):
        book.measure(f"{key}_{name}", None if value is None else value * 1000, "ms")
    book.measure(f"{key}_longest_gap", one.longest_gap * 1000, "ms")


def _result(
    target: Target, book: Logbook, watched: Watched, paths: Sequence[str], configured: tuple[ConfiguredField, ...]
) -> ProbeResult:
    found = watched.of(paths)
    if not found:
        book.doubt("nothing was sampled while a long prompt was read")
    named = ", ".join(one.path for one in found) or "nothing"
    latency = watched.control.quantile(0.5) if watched.control else None
    return book.result(
        target,
        sampled=f"{named}, asked at a fixed rate while one long prompt was read; a source on the host as control",
        sample_count=sum(one.obtained for one in found),
        ended_because="the long prompt was answered" if found else "the long prompt was not answered",
        not_proven=(
            "that what these endpoints say is true: only that they answered (see truth and overlap)",
            "readability under several long prompts at once, or while an answer is decoded",
            "anything between two questions; a stall shorter than their interval may fall through",
        ),
        configured=configured,
        vantage=target.vantage(path_latency_ms=None if latency is None else latency * 1000),
    )
