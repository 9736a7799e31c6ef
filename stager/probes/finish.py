"""``stop`` and ``length`` must both be honest, and usage must equal what arrived, streamed and plain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import CompletionRequest
from stager.client.record import Completion
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.counting import NoCount, count
from stager.probes.logbook import Logbook, sketch
from stager.probes.requests import ask_once, chat_request, generation_request
from stager.probes.target import Target

#: Long enough that a lost or doubled token stands out from re-tokenizing noise, short enough to be quick.
LENGTH_TOKENS = 32
#: Room for the answer that must end by itself.
STOP_TOKENS = 96
#: Re-tokenizing text may merge tokens otherwise than they were generated, and an end-of-text token has no text.
COUNT_TOLERANCE = 0.1
COUNT_TOLERANCE_TOKENS = 2
#: Speculative decoding may stop a few tokens short of max_tokens (ExLlamaV3 job.py:202, 742).
SHORT_BY = 4
TIMEOUT_S = 60.0

_OPENAI_WORDS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_LONG = "Count from one to one thousand in words, one number after the other."
_SHORT = "What is the colour of a clear sky at noon? Answer with one word."


class FinishParameters(Model):
    """Tokens of the answer that is cut, tokens the other may take, and seconds one answer may take."""

    length_tokens: Annotated[int, Field(ge=8, le=4096)] = LENGTH_TOKENS
    stop_tokens: Annotated[int, Field(ge=8, le=4096)] = STOP_TOKENS
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Case:
    """One request and the way it must end."""

    name: str
    request: CompletionRequest
    wanted: str
    max_tokens: int


class FinishProbe:
    """Lets one answer be cut and another end by itself, streamed and plain, and counts what arrived."""

    name = "finish"
    version = 2
    claims = ("honest-ends",)
    parameters = FinishParameters
    thresholds: Mapping[str, Any] = {
        "count_tolerance": COUNT_TOLERANCE,
        "count_tolerance_tokens": COUNT_TOLERANCE_TOKENS,
        "short_by": SHORT_BY,
    }

    def time_limit(self, parameters: FinishParameters) -> float:
        """Six answers, each with its count."""
        return 6 * parameters.timeout + 20

    async def run(self, target: Target, parameters: FinishParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``honest-ends``."""
        book = Logbook("honest-ends", parameters)
        uncounted: list[str] = []
        cases = cases_for(target, parameters)
        for case in cases:
            completion = await ask_once(target, case.request, parameters.timeout)
            book.raw[case.name] = sketch(completion)
            if not book.usable(completion, case.name):
                if not completion.deltas:
                    break
                continue
            judge_end(book, case, completion, target.engine.finish_word(completion.finish_reason))
            try:
                arrived = await count(target, completion.content, parameters.timeout)
            except NoCount as error:
                uncounted.append(str(error))
            else:
                judge_count(book, case, completion, arrived)
        return (
            book.result(
                target,
                sampled="answers that must be cut and answers that must end by themselves, streamed and plain",
                sample_count=len(book.streams),
                ended_because="all cases were asked" if len(book.streams) == len(cases) else "an answer broke",
                not_proven=(
                    "the quality of any answer: only its end and its counts were judged",
                    "ends under load, with tools, with stop strings or after an error",
                    "usage of prompts: see needle and truncation",
                    *(f"that usage equals what arrived: {why}" for why in dict.fromkeys(uncounted)),
                ),
                configured=await configured_fields(target),
            ),
        )


def cases_for(target: Target, parameters: FinishParameters) -> tuple[Case, ...]:
    """Return the requests: cut and self-ended, streamed and plain, and the raw route where there is one."""
    cut, own = parameters.length_tokens, parameters.stop_tokens
    cases = [
        Case("chat_stream_cut", chat_request(target, _LONG, max_tokens=cut, exact=True), "length", cut),
        Case("chat_plain_cut", chat_request(target, _LONG, max_tokens=cut, exact=True, stream=False), "length", cut),
        Case("chat_stream_own_end", chat_request(target, _SHORT, max_tokens=own), "stop", own),
        Case("chat_plain_own_end", chat_request(target, _SHORT, max_tokens=own, stream=False), "stop", own),
    ]
    if target.engine.completions:
        cases.append(Case("text_stream_cut", generation_request(target, _LONG, max_tokens=cut), "length", cut))
    return tuple(cases)


def judge_end(book: Logbook, case: Case, completion: Completion, word: str | None) -> None:
    """Hold the finish reason, the usage and the stream's form against what must be."""
    for fault in completion.faults:
        book.fail(f"{case.name}: {fault}")
    said = completion.completion_tokens
    book.measure(f"{case.name}_usage", said, "tokens")
    if said is None:
        book.fail(f"{case.name}: usage.completion_tokens was asked for and did not come")
    elif said > case.max_tokens:
        book.fail(f"{case.name}: usage counts {said} tokens where at most {case.max_tokens} were allowed")
    if word not in _OPENAI_WORDS:
        book.fail(f"{case.name}: the finish reason is {word!r}, which is none")
    elif case.wanted == "length" and word != "length":
        book.fail(f"{case.name}: the answer was cut at max_tokens and says {word!r}")
    elif case.wanted == "length" and said is not None and said < case.max_tokens - SHORT_BY:
        book.fail(f"{case.name}: it says 'length' after {said} of {case.max_tokens} tokens")
    elif case.wanted == "stop" and word == "length":
        if said is not None and said < case.max_tokens - SHORT_BY:
            book.fail(f"{case.name}: it says 'length' after {said} of {case.max_tokens} tokens")
        else:
            book.doubt(f"{case.name}: the model did not end by itself within {case.max_tokens} tokens")
    elif case.wanted == "stop" and word != "stop":
        book.fail(f"{case.name}: an answer that ended by itself says {word!r}")


def judge_count(book: Logbook, case: Case, completion: Completion, arrived: int) -> None:
    """Hold usage against the tokens of the text that arrived, as the server's own tokenizer counts them."""
    said = completion.completion_tokens
    book.measure(f"{case.name}_arrived", arrived, "tokens")
    if said is None or completion.reasoning:
        return
    allowed = max(COUNT_TOLERANCE_TOKENS, COUNT_TOLERANCE * said)
    if abs(arrived - said) > allowed:
        book.fail(f"{case.name}: usage says {said} tokens, the text that arrived has {arrived}")
