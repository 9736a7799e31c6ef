"""Mixed load for a given time: no errors, no slowing down, and nothing left running at the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from statistics import median
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import CompletionRequest, Cut, How
from stager.client.connection import connect
from stager.client.record import Completion
from stager.client.ticks import ticks
from stager.models.base import Model
from stager.models.evidence import Verdict
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.gauges import wait_idle
from stager.probes.logbook import Logbook, broken, sketch
from stager.probes.prompts import fresh_tag, unique_prompt
from stager.probes.requests import ask_once, chat_request, generation_request, limits_for
from stager.probes.target import Target

SECONDS = 60.0
STREAMS = 4
#: The last quarter's typical token may take so much longer than the first quarter's.
DRIFT = 1.3
#: Requests in each of the two quarters below which their medians say nothing.
LEAST_PER_QUARTER = 3
TIMEOUT_S = 120.0
#: Each worker's requests in turn: (words of prompt, tokens, share of clients that leave).
_MIX = ((20, 24, False), (200, 24, False), (20, 12, False), (60, 48, True))


class SoakParameters(Model):
    """How long (s), how many streams (default: the claimed slots), and seconds one answer may take."""

    seconds: Annotated[float, Field(gt=0, le=86_400)] = SECONDS
    streams: Annotated[int, Field(ge=1, le=256)] | None = None
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class SoakProbe:
    """Keeps every slot busy with short, long, chat and abandoned requests until the time is over."""

    name = "soak"
    version = 2
    claims = ("steady",)
    parameters = SoakParameters
    thresholds: Mapping[str, Any] = {"drift": DRIFT, "least_per_quarter": LEAST_PER_QUARTER, "errors": 0}

    def time_limit(self, parameters: SoakParameters) -> float:
        """The soak, one last answer, and the wait for idleness."""
        return parameters.seconds + 2 * parameters.timeout + 30

    async def run(self, target: Target, parameters: SoakParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``steady``."""
        book = Logbook("steady", parameters)
        streams = parameters.streams or target.claims.slots or STREAMS
        begun = ticks()
        end = begun + round(parameters.seconds * 1e9)
        stop = asyncio.Event()
        workers = (_work(target, parameters, number, end, stop) for number in range(streams))
        done = sorted((c for some in await asyncio.gather(*workers) for c in some), key=lambda c: c.ended_ns)
        for completion in done:
            _judge_one(book, completion)
        _judge_drift(book, done, begun, end)
        await _judge_end(target, book)
        book.measure("requests", len(done), "count")
        book.measure("lasted", (ticks() - begun) / 1e9, "s")
        book.raw["requests"] = [sketch(c, times=False) | {"content": c.content[:40]} for c in done]
        return (
            book.result(
                target,
                sampled=f"short, long, chat and abandoned requests in {streams} streams for {parameters.seconds:g} s",
                sample_count=len(done),
                ended_because="a request broke" if stop.is_set() else "the time was over",
                not_proven=(
                    f"anything that takes longer than {parameters.seconds:g} s to show",
                    "other mixes: very long prompts, tools, images or higher concurrency",
                    "the quality of the answers",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _work(
    target: Target, parameters: SoakParameters, number: int, end_ns: int, stop: asyncio.Event
) -> list[Completion]:
    """Send one request after the other until the time is over or one of anybody's breaks."""
    done: list[Completion] = []
    tag, rng = fresh_tag(), random.Random()
    while ticks() < end_ns and not stop.is_set():
        words, tokens, leaves = _MIX[(number + len(done)) % len(_MIX)]
        text = unique_prompt(tag, len(done), words)
        completion = await ask_once(target, _request(target, text, tokens, leaves, rng), parameters.timeout)
        done.append(completion)
        if broken(completion) or completion.error:
            stop.set()
    return done


def _request(target: Target, text: str, tokens: int, leaves: bool, rng: random.Random) -> CompletionRequest:
    if leaves:
        return generation_request(target, text, max_tokens=tokens, cut=Cut(How.CLOSE, after_deltas=rng.randint(1, 8)))
    if rng.random() < 0.3:
        return chat_request(target, text, max_tokens=tokens, exact=True)
    return generation_request(target, text, max_tokens=tokens)


def _judge_one(book: Logbook, completion: Completion) -> None:
    """A request that broke after others went well is what a soak looks for; if none went well, it is a fault."""
    went_well = any(end.error is None for end in book.streams)
    book.ended(completion)
    why = broken(completion) or completion.error
    if why and went_well:
        book.fail(f"after {len(book.streams) - 1} requests one broke: {why}")
    elif why:
        book.fault(f"the soak broke at its beginning: {why}")


def _judge_drift(book: Logbook, done: list[Completion], begun_ns: int, end_ns: int) -> None:
    quarter = (end_ns - begun_ns) / 4
    early = [t for c in done if c.ended_ns < begun_ns + quarter and (t := _token_seconds(c)) is not None]
    late = [t for c in done if begun_ns + 3 * quarter <= c.ended_ns <= end_ns and (t := _token_seconds(c)) is not None]
    if min(len(early), len(late)) < LEAST_PER_QUARTER:
        if not book.reasons():
            book.doubt(f"{len(early)} requests in the first quarter and {len(late)} in the last: too few to compare")
        return
    drift = median(late) / median(early)
    book.measure("token_time_early", median(early) * 1000, "ms")
    book.measure("token_time_late", median(late) * 1000, "ms")
    book.measure("drift", drift, "ratio")
    if drift > DRIFT:
        book.fail(f"a token took {drift:.2f} times as long at the end as at the beginning")


def _token_seconds(completion: Completion) -> float | None:
    times = [delta.at_ns for delta in completion.deltas]
    return (times[-1] - times[0]) / 1e9 / (len(times) - 1) if len(times) > 4 else None


async def _judge_end(target: Target, book: Logbook) -> None:
    if not target.engine.active or book.verdict is Verdict.ERROR:
        return
    within = target.engine.cancel_grace + 5
    async with connect(target.base_url, limits_for(0, within + 1)) as connection:
        idle = await wait_idle(connection, target.engine.active[:1], within)
    book.measure("idle_at_the_end", idle, "bool")
    if not idle and not book.reasons():
        book.fail(f"{target.engine.active[0].where} was not zero {within:g} s after the last request")
