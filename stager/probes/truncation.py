"""What was sent must be read: head, middle and tail of a prompt near the window, and one beyond it refused aloud."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.record import Ended
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.counting import NoCount, Yardstick, take_measure
from stager.probes.logbook import Logbook, broken, sketch
from stager.probes.longprompt import (
    USAGE_TOLERANCE,
    USAGE_TOLERANCE_TOKENS,
    Haystack,
    build,
    expected,
    question_request,
    usage_off,
)
from stager.probes.needles import Needle, pick_needles
from stager.probes.requests import ask_once
from stager.probes.target import Target

#: The very ends, and the middle. Ollama keeps the beginning and the last half; chats drop the oldest (3839).
PLACES = (("head", 0.0), ("middle", 0.45), ("tail", 1.0))
#: Share of the claimed window the long prompt takes, so that its answer still fits.
WINDOW_SHARE = 0.9
UNKNOWN_WINDOW_TOKENS = 2048
#: How far beyond the claimed window the over-long prompt goes.
BEYOND = 1.1
CONTROL_TOKENS = 300
MAX_TOKENS = 64
TIMEOUT_S = 600.0


class TruncationParameters(Model):
    """Prompt length in tokens (default: nine tenths of the claimed window), whether to go beyond, seconds each."""

    prompt_tokens: Annotated[int, Field(ge=200)] | None = None
    beyond: bool = True
    max_tokens: Annotated[int, Field(ge=16, le=4096)] = MAX_TOKENS
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class TruncationProbe:
    """Compares usage with what was sent, asks for the ends and the middle, then sends more than fits."""

    name = "truncation"
    version = 2
    claims = ("untruncated",)
    parameters = TruncationParameters
    thresholds: Mapping[str, Any] = {
        "usage_tolerance": USAGE_TOLERANCE,
        "usage_tolerance_tokens": USAGE_TOLERANCE_TOKENS,
        "window_share": WINDOW_SHARE,
        "beyond": BEYOND,
    }

    def time_limit(self, parameters: TruncationParameters) -> float:
        """Three long questions, three short ones, one beyond, and the counting."""
        return 8 * parameters.timeout + 20

    async def run(self, target: Target, parameters: TruncationParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``untruncated``."""
        book = Logbook("untruncated", parameters)
        try:
            await _experiment(target, parameters, book)
        except NoCount as error:
            error.note(book, "what was sent cannot be counted")
        limits = _limits(target, parameters)
        return (
            book.result(
                target,
                sampled="prompt_tokens of a long chat against the server's own count; facts at head, middle and tail",
                sample_count=len(book.streams),
                ended_because="all questions were asked" if not book.reasons() else "judged after what was asked",
                not_proven=(
                    "other lengths, and prompts of several messages, which some servers cut by dropping the oldest",
                    "why a fact was not told, where usage is right: dropped in silence and not attended to look alike",
                    *limits,
                ),
                configured=await configured_fields(target),
            ),
        )


def _limits(target: Target, parameters: TruncationParameters) -> tuple[str, ...]:
    if target.claims.context is None:
        return ("what happens beyond the window: the playbook claims none",)
    return () if parameters.beyond else ("what happens beyond the window: it was not asked for",)


async def _experiment(target: Target, parameters: TruncationParameters, book: Logbook) -> None:
    rng = random.Random()
    yardstick = await take_measure(target, rng, parameters.timeout)
    context = target.claims.context
    tokens = parameters.prompt_tokens or (round(WINDOW_SHARE * context) if context else UNKNOWN_WINDOW_TOKENS)
    needles = pick_needles(rng, [depth for _, depth in PLACES])
    book.raw |= {"needles": [n.sentence for n in needles], "counted_by": yardstick.how, "answers": {}}
    short = build(rng, yardstick, CONTROL_TOKENS, needles)
    known = [await _told(target, parameters, book, "short control", short, needle, fresh=False) for needle in needles]
    hay = build(rng, yardstick, tokens, needles)
    told = []
    for number, ((place, _), needle) in enumerate(zip(PLACES, needles, strict=True)):
        told.append(await _told(target, parameters, book, place, hay, needle, fresh=number == 0))
        if number == 0:
            await _check_usage(target, parameters, book, yardstick, hay)
        if told[-1] is None:
            return
    _judge_places(book, known, told)
    if parameters.beyond and context and not book.refuted:
        await _go_beyond(target, parameters, book, build(rng, yardstick, round(BEYOND * context), needles), yardstick)


async def _told(
    target: Target,
    parameters: TruncationParameters,
    book: Logbook,
    what: str,
    hay: Haystack,
    needle: Needle,
    *,
    fresh: bool,
) -> bool | None:
    """Ask for one needle: whether it was told, None where the answer cannot be judged."""
    request = question_request(target, hay, needle.question, parameters.max_tokens, fresh=fresh)
    completion = await ask_once(target, request, parameters.timeout)
    book.raw["answers"].setdefault(what, []).append(sketch(completion, times=False))
    if not book.usable(completion, what):
        return None
    book.raw["prompt_tokens"] = completion.prompt_tokens
    return needle.secret in completion.content


async def _check_usage(
    target: Target, parameters: TruncationParameters, book: Logbook, yardstick: Yardstick, hay: Haystack
) -> None:
    said = book.raw.get("prompt_tokens")
    wanted = await expected(target, yardstick, hay, hay.needles[0].question, parameters.timeout)
    book.measure("prompt_tokens", said, "tokens")
    book.measure("prompt_tokens_expected", wanted, "tokens")
    if (off := usage_off(said, wanted)) is not None:
        book.fail(off)


def _judge_places(book: Logbook, known: list[bool | None], told: list[bool | None]) -> None:
    for (place, _), before, now in zip(PLACES, known, told, strict=True):
        book.measure(f"{place}_told", now, "bool")
        if now or book.refuted:
            continue
        if before:
            book.fail(f"the fact at the {place} was told from a short prompt, and not from the long one")
        else:
            book.doubt(f"the model does not tell the fact at the {place} even from a short prompt")


async def _go_beyond(
    target: Target, parameters: TruncationParameters, book: Logbook, hay: Haystack, yardstick: Yardstick
) -> None:
    """Send more than the claimed window: it must be refused aloud, or really be read."""
    request = question_request(target, hay, hay.needles[0].question, parameters.max_tokens, fresh=True)
    completion = await ask_once(target, request, parameters.timeout)
    book.raw["answers"]["beyond"] = sketch(completion, times=False)
    book.ended(completion)
    if completion.ended is Ended.REFUSED or completion.error:
        if (fault := broken(completion)) is not None:
            book.fault(f"beyond the window: {fault}")
        book.measure("beyond_window", "refused", "word")
        return
    wanted = await expected(target, yardstick, hay, hay.needles[0].question, parameters.timeout)
    off = usage_off(completion.prompt_tokens, wanted)
    book.measure("beyond_window", "read" if off is None else "truncated in silence", "word")
    if off is not None:
        book.fail(f"a prompt beyond the claimed window was answered as if all was well: {off}")
