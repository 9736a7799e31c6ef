"""N prompts of nearly the claimed window at once: N private windows, or one pool that is promised N times?"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import CompletionRequest
from stager.client.record import Completion
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.counting import NoCount, Yardstick, take_measure
from stager.probes.logbook import Logbook, sketch
from stager.probes.longprompt import USAGE_TOLERANCE, Haystack, build, expected, question_request, usage_off
from stager.probes.needles import Needle, pick_needles
from stager.probes.requests import ask_once
from stager.probes.target import Target
from stager.probes.windows_together import TOGETHER_TOKENS, Together, all_at_once, exact

#: Share of each claimed window that is prompt; the rest is room to decode while the others are still read.
WINDOW_SHARE = 0.85
#: Each prompt's secret stands here: whatever is evicted first (the oldest) takes it along.
DEPTH = 0.02
#: All N prompts, read one after the other, may take so much longer than N single ones before it counts as waiting.
QUEUE_FACTOR = 1.5
TIMEOUT_S = 600.0


class WindowsParameters(Model):
    """Streams (default: the claimed slots), prompt tokens each (default: most of the window), seconds an answer."""

    streams: Annotated[int, Field(ge=2, le=256)] | None = None
    prompt_tokens: Annotated[int, Field(ge=200)] | None = None
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class WindowsProbe:
    """Fills every claimed window at once, with a secret at each one's head, and sees whether all live side by side."""

    name = "windows"
    version = 2
    claims = ("private",)
    parameters = WindowsParameters
    thresholds: Mapping[str, Any] = {
        "window_share": WINDOW_SHARE,
        "queue_factor": QUEUE_FACTOR,
        "together_tokens": TOGETHER_TOKENS,
        "usage_tolerance": USAGE_TOLERANCE,
    }

    def time_limit(self, parameters: WindowsParameters) -> float:
        """The control, all prompts read one after the other, and the counting."""
        return (3 + (parameters.streams or 8)) * parameters.timeout + 20

    async def run(self, target: Target, parameters: WindowsParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``private``."""
        book = Logbook("private", parameters)
        streams, context = parameters.streams or target.claims.slots, target.claims.context
        if streams is None or context is None:
            book.doubt("the playbook claims no slots or no context, so there is no claim to hold the engine against")
        elif streams < 2:
            book.doubt("one window cannot be shared: at least two are needed")
        else:
            tokens = parameters.prompt_tokens or round(WINDOW_SHARE * context)
            try:
                await _experiment(target, parameters, book, streams, tokens, context)
            except NoCount as error:
                error.note(book, "the prompts' length cannot be aimed at")
        return (
            book.result(
                target,
                sampled="as many prompts of nearly the claimed window as there are claimed slots, all at once",
                sample_count=len(book.streams),
                ended_because="all streams were let go together"
                if not book.reasons()
                else "judged after what was seen",
                not_proven=(
                    "answers from anywhere but the head of each prompt",
                    "that the windows stay private to their last token: each was filled to the share stated",
                    "how the memory is laid out: only that all prompts lived side by side, or did not",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _experiment(
    target: Target, parameters: WindowsParameters, book: Logbook, streams: int, tokens: int, context: int
) -> None:
    rng = random.Random()
    yardstick = await take_measure(target, rng, parameters.timeout)
    needle = pick_needles(rng, [DEPTH])[0]
    control = await _control(target, parameters, book, build(rng, yardstick, tokens, [needle]), needle)
    if control is None:
        return
    alone_s, token_s = control
    reading_s = streams * alone_s * QUEUE_FACTOR
    needed = math.ceil(reading_s / token_s) + 2 * TOGETHER_TOKENS
    room = context - round(tokens * (1 + USAGE_TOLERANCE)) - 64
    book.measure("prefill_alone", alone_s, "s")
    if room < needed:
        book.doubt(
            f"{room} tokens of room are too few: reading the other prompts may take {needed} tokens of decoding; "
            "ask for shorter prompts"
        )
        return
    hays = [build(rng, yardstick, tokens, pick_needles(rng, [DEPTH])) for _ in range(streams)]
    wanted = [await expected(target, yardstick, hay, hay.needles[0].question, parameters.timeout) for hay in hays]
    together = Together(streams)
    completions = await all_at_once(target, parameters.timeout, hays, min(room, 2 * needed), together)
    _judge(book, hays, completions, together)
    _judge_sizes(book, completions, wanted, yardstick)


async def _control(
    target: Target, parameters: WindowsParameters, book: Logbook, hay: Haystack, needle: Needle
) -> tuple[float, float] | None:
    """Ask one such prompt alone: seconds to its first token and seconds a token; None where that fails."""
    request = question_request(target, hay, needle.question, 32, fresh=True)
    request = CompletionRequest(request.path, {**request.body, **exact(target, 32)}, keep_raw=False)
    completion = await ask_once(target, request, parameters.timeout)
    book.raw["alone"] = sketch(completion)
    if not book.usable(completion, "one prompt alone") or completion.ttft is None:
        return None
    if needle.secret not in completion.content:
        book.doubt("the model does not tell the fact at the head even of one prompt alone")
        return None
    first, last = completion.deltas[0].at_ns, completion.deltas[-1].at_ns
    return completion.ttft, max(1e-4, (last - first) / 1e9 / max(1, len(completion.deltas) - 1))


def _judge(book: Logbook, hays: list[Haystack], completions: list[Completion], together: Together) -> None:
    begun = len(together.begun)
    book.measure("streams", together.wanted, "count")
    book.measure("windows_side_by_side", begun, "count")
    told = 0
    for number, (hay, completion) in enumerate(zip(hays, completions, strict=True)):
        book.raw.setdefault("streams", []).append(sketch(completion))
        if not book.usable(completion, f"prompt {number}") or not completion.deltas:
            continue
        right = hay.needles[0].secret in completion.content
        told += right
        if not right and len(completion.deltas) > TOGETHER_TOKENS:
            book.fail(f"prompt {number}: the fact at its head was lost; it said {completion.content[:80]!r}")
    book.measure("heads_told", told, "count")
    if begun < together.wanted and not book.reasons():
        book.fail(
            f"only {begun} of {together.wanted} prompts lived side by side; the others had not begun when one had "
            "decoded for longer than reading all of them takes"
        )


def _judge_sizes(book: Logbook, completions: list[Completion], wanted: list[float], yardstick: Yardstick) -> None:
    """Usage comes with an answer's end; streams that were let go have none, and then what was sent is stated."""
    book.measure("prompt_tokens_sent", round(sum(wanted)), "tokens")
    book.raw["counted_by"] = yardstick.how
    for number, (completion, sent) in enumerate(zip(completions, wanted, strict=True)):
        if completion.usage is not None and (off := usage_off(completion.prompt_tokens, sent)) is not None:
            book.fail(f"prompt {number}: {off}")
