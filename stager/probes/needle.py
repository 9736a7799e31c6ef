"""Facts at several depths of a long prompt must be retrieved, and an absent one must not be made up from another."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.record import Completion
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.counting import NoCount, take_measure
from stager.probes.logbook import Logbook, sketch
from stager.probes.longprompt import (
    USAGE_TOLERANCE,
    USAGE_TOLERANCE_TOKENS,
    Haystack,
    build,
    expected,
    question_request,
    usage_off,
)
from stager.probes.needles import ABSENT_QUESTION, MOST, Needle, pick_needles
from stager.probes.requests import ask_once
from stager.probes.target import Target

#: Head, middle and tail: a needle only in the middle misses both styles of truncation (anchors/probes.md section 3).
DEPTHS = (0.05, 0.5, 0.95)
#: Share of the claimed window a prompt takes by default: the middle rung of 25 %, 75 %, ceiling.
WINDOW_SHARE = 0.75
UNKNOWN_WINDOW_TOKENS = 2048
#: The control without needles need not be long: it looks for secrets of the prompt before it.
CONTROL_SHARE = 0.25
MAX_TOKENS = 96
#: Ten minutes a question: the field notes' 240,118 tokens took 443 s.
TIMEOUT_S = 600.0

Depth = Annotated[float, Field(ge=0, le=1)]


class NeedleParameters(Model):
    """Prompt length in tokens (default: three quarters of the claimed window), depths 0 to 1, seconds a question."""

    prompt_tokens: Annotated[int, Field(ge=200)] | None = None
    depths: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1, max_length=MOST, strict=False)
    ] = DEPTHS
    max_tokens: Annotated[int, Field(ge=16, le=4096)] = MAX_TOKENS
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class NeedleProbe:
    """Hides random facts, asks for each, then asks a text without them for one that is nowhere."""

    name = "needle"
    version = 2
    claims = ("retrieved",)
    parameters = NeedleParameters
    thresholds: Mapping[str, Any] = {
        "usage_tolerance": USAGE_TOLERANCE,
        "usage_tolerance_tokens": USAGE_TOLERANCE_TOKENS,
        "window_share": WINDOW_SHARE,
    }

    def time_limit(self, parameters: NeedleParameters) -> float:
        """Each question's patience, two for the controls, one for the counting."""
        return (len(parameters.depths) + 3) * parameters.timeout + 20

    async def run(self, target: Target, parameters: NeedleParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``retrieved``."""
        book = Logbook("retrieved", parameters)
        try:
            wanted = await _ask_all(target, parameters, book)
        except NoCount as error:
            error.note(book, "the prompt's length cannot be aimed at")
            wanted = 0
        depths = ", ".join(f"{depth:.0%}" for depth in parameters.depths)
        return (
            book.result(
                target,
                sampled=f"answers about random facts at {depths} of about {wanted} prompt tokens, and about none",
                sample_count=len(book.streams),
                ended_because="every question was answered" if not book.reasons() else "judged after what was asked",
                not_proven=(
                    "retrieval at any other depth, from any other text, or at any other length",
                    "comprehension: the answer stands word for word in the prompt",
                    "that a text of this length fits beside others: it was alone (see windows)",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _ask_all(target: Target, parameters: NeedleParameters, book: Logbook) -> int:
    rng = random.Random()
    yardstick = await take_measure(target, rng, parameters.timeout)
    tokens = parameters.prompt_tokens or _default_tokens(target)
    needles = pick_needles(rng, parameters.depths)
    hay = build(rng, yardstick, tokens, needles)
    book.raw |= {"needles": [[n.depth, n.sentence] for n in needles], "counted_by": yardstick.how, "answers": []}
    found = 0
    for number, needle in enumerate(needles):
        request = question_request(target, hay, needle.question, parameters.max_tokens, fresh=number == 0)
        completion = await ask_once(target, request, parameters.timeout)
        book.raw["answers"].append(sketch(completion))
        what = f"needle at {needle.depth:.0%}"
        if not book.usable(completion, what):
            return tokens
        if number == 0:
            wanted = await expected(target, yardstick, hay, needle.question, parameters.timeout)
            _note_size(book, completion, wanted)
        found += _judge(book, what, needle, completion, target)
    book.measure("needles_hidden", len(needles), "count")
    book.measure("needles_found", found, "count")
    if not book.refuted:
        control = build(rng, yardstick, max(200, round(CONTROL_SHARE * tokens)), ())
        await _absent(target, parameters, book, control, needles)
    return tokens


def _default_tokens(target: Target) -> int:
    return round(WINDOW_SHARE * target.claims.context) if target.claims.context else UNKNOWN_WINDOW_TOKENS


def _note_size(book: Logbook, completion: Completion, wanted: float) -> None:
    book.measure("prompt_tokens", completion.prompt_tokens, "tokens")
    book.measure("prompt_tokens_expected", wanted, "tokens")
    book.measure("seconds_to_first_token", completion.ttft, "s")
    if (off := usage_off(completion.prompt_tokens, wanted)) is not None:
        book.fail(off)


def _judge(book: Logbook, what: str, needle: Needle, completion: Completion, target: Target) -> bool:
    word = target.engine.finish_word(completion.finish_reason)
    there = needle.secret in completion.content
    if not there:
        book.fail(f"{what} was not retrieved; the answer was {completion.content[:100]!r}")
    if word != "stop":
        book.fail(f"{what}: the answer ended with {word!r} instead of 'stop'")
    return there


async def _absent(
    target: Target, parameters: NeedleParameters, book: Logbook, control: Haystack, needles: list[Needle]
) -> None:
    """Ask a text without needles for one that is nowhere: a secret in the answer came from another prompt."""
    for question in (needles[0].question, ABSENT_QUESTION):
        request = question_request(target, control, question, parameters.max_tokens, fresh=True)
        completion = await ask_once(target, request, parameters.timeout)
        book.raw["answers"].append(sketch(completion))
        if not book.usable(completion, "control without needles"):
            return
        if leaked := [needle.secret for needle in needles if needle.secret in completion.content]:
            book.fail(f"the control's answer tells {leaked[0]}, which only an earlier prompt held")
    invented = any(c.isdigit() for c in completion.content)
    book.measure("absent_fact_invented", invented, "bool")
