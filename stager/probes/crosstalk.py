"""Every stream says its own word and nobody else's, at full width, also right after another client left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import Cut, How, complete
from stager.client.connection import connect
from stager.client.record import Completion
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.canaries import LINES, canary_prompt, pick_canaries, strangers
from stager.probes.logbook import Logbook, sketch
from stager.probes.requests import generation_request, limits_for
from stager.probes.target import Target

STREAMS = 4
ROUNDS = 3
#: Long enough for some ten repeats of the word, so that a leak of one line in ten shows.
MAX_TOKENS = 96
#: A stream must say its own word so often for its silence about others to mean anything.
LEAST_REPEATS = 3
TIMEOUT_S = 120.0
_CUT_AFTER = 6


class CrosstalkParameters(Model):
    """Streams at once (default: the claimed slots), rounds, tokens a stream, and seconds one answer may take."""

    streams: Annotated[int, Field(ge=2, le=256)] | None = None
    rounds: Annotated[int, Field(ge=1, le=1000)] = ROUNDS
    max_tokens: Annotated[int, Field(ge=16, le=4096)] = MAX_TOKENS
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class CrosstalkProbe:
    """Gives each stream a word to repeat, lets one client leave in mid-round, and starts another in its place."""

    name = "crosstalk"
    version = 2
    claims = ("separate",)
    parameters = CrosstalkParameters
    thresholds: Mapping[str, Any] = {"foreign_words": 0, "least_repeats": LEAST_REPEATS, "lines": LINES}

    def time_limit(self, parameters: CrosstalkParameters) -> float:
        """A round is two answers one after the other."""
        return 2 * parameters.rounds * parameters.timeout + 20

    async def run(self, target: Target, parameters: CrosstalkParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``separate``."""
        book = Logbook("separate", parameters)
        streams = max(2, parameters.streams or target.claims.slots or STREAMS)
        canaries = pick_canaries(random.Random(), (streams + 1) * parameters.rounds)
        book.raw |= {"canaries": canaries, "answers": []}
        repeats: list[int] = []
        for number in range(parameters.rounds):
            mine = canaries[number * (streams + 1) : (number + 1) * (streams + 1)]
            for canary, completion in zip(mine, await _round(target, parameters, mine), strict=True):
                book.raw["answers"].append({"own": canary, **sketch(completion, times=False)})
                if book.usable(completion, f"the stream of {canary}"):
                    repeats += _judge(book, canary, completion, set(canaries))
            if book.refuted:
                break
        book.measure("streams", streams, "count")
        book.measure("fewest_repeats", min(repeats, default=None), "count")
        return (
            book.result(
                target,
                sampled=f"what {streams} streams at once said, each with a word of its own; one client left each round",
                sample_count=len(book.streams),
                ended_because="a stranger's word came" if book.refuted else "all rounds were answered",
                not_proven=(
                    "that no leak is rarer than these streams and rounds could show",
                    "leaks that do not reach the text: in caches, logs or timing",
                    "leaks between tenants, adapters or images: all streams were plain text of one client",
                    "that the streams really ran together (see overlap)",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _round(target: Target, parameters: CrosstalkParameters, canaries: list[str]) -> list[Completion]:
    """Run all words but the last two as streams, cut one more, and start the last in its place."""
    *steady, leaver, follower = canaries
    limits = limits_for(parameters.max_tokens, parameters.timeout)

    async def say(canary: str, cut: Cut | None = None) -> Completion:
        request = generation_request(target, canary_prompt(canary), max_tokens=parameters.max_tokens, cut=cut)
        async with connect(target.base_url, limits) as connection:
            return await complete(connection, request)

    async def leave_and_follow() -> list[Completion]:
        left = await say(leaver, Cut(How.CLOSE, after_deltas=_CUT_AFTER))
        return [left, await say(follower)]

    pair, *stayed = await asyncio.gather(leave_and_follow(), *(_listed(say(c)) for c in steady))
    return [*(one for some in stayed for one in some), *pair]


async def _listed(saying: Awaitable[Completion]) -> list[Completion]:
    return [await saying]


def _judge(book: Logbook, canary: str, completion: Completion, canaries: set[str]) -> list[int]:
    """Note strangers' words; return how often the stream said its own, for streams that were not cut."""
    text = completion.content
    for stranger in sorted(strangers(text, canary, canaries)):
        book.fail(f"the stream of {canary} said {stranger}, which is another stream's word")
    if completion.finish_reason is None:
        return []
    count = text.count(canary)
    if count < LEAST_REPEATS:
        book.doubt(f"the stream of {canary} said its own word only {count} times, too rarely to judge it")
    return [count]
