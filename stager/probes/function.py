"""A typed ``add(a, b)`` call in N streams at once, other numbers in each: "2" is not 2."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from stager.client.load import run_load
from stager.client.record import Completion
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.logbook import Logbook, sketch
from stager.probes.requests import chat_request, limits_for
from stager.probes.target import Target

#: As many streams as the field notes' second build was asked for, where the playbook claims no slots.
STREAMS = 4
MAX_TOKENS = 192
TIMEOUT_S = 120.0

Operands = tuple[int, int]

ADD_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two whole numbers and return their sum.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}


class FunctionParameters(Model):
    """Streams at once (default: the claimed slots), and seconds one answer may take."""

    streams: Annotated[int, Field(ge=1, le=256)] | None = None
    max_tokens: Annotated[int, Field(ge=16, le=4096)] = MAX_TOKENS
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class FunctionProbe:
    """Asks every stream for one call with numbers of its own; first streamed, then plain."""

    name = "function"
    version = 2
    claims = ("typed-calls",)
    parameters = FunctionParameters
    thresholds: Mapping[str, Any] = {"wrong_calls": 0}

    def time_limit(self, parameters: FunctionParameters) -> float:
        """Two rounds of all streams."""
        return 2 * parameters.timeout + 20

    async def run(self, target: Target, parameters: FunctionParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``typed-calls``."""
        book = Logbook("typed-calls", parameters)
        streams = parameters.streams or target.claims.slots or STREAMS
        rng = random.Random()
        right = 0
        for stream in (True, False):
            operands = pick_operands(rng, streams)
            completions = await _round(target, parameters, operands, stream=stream)
            form = "streamed" if stream else "plain"
            book.raw[form] = [
                {"operands": pair, **sketch(completion)} for pair, completion in zip(operands, completions, strict=True)
            ]
            book.measure(f"most_at_once_{form}", most_at_once(completions), "count")
            for number, completion in enumerate(completions):
                what = f"{form} stream {number}"
                if not book.usable(completion, what):
                    continue
                word = target.engine.finish_word(completion.finish_reason)
                wrong = wrongs(completion, operands, number, word)
                right += not wrong
                for complaint in wrong:
                    book.fail(f"{what}: {complaint}")
        book.measure("right_calls", right, "count")
        book.measure("streams", streams, "count")
        return (
            book.result(
                target,
                sampled=f"chat requests with the tool add(a, b), {streams} at once, streamed and then plain",
                sample_count=len(book.streams),
                ended_because="both rounds were answered",
                not_proven=(
                    "any other tool, nested or optional arguments, or several calls in one answer",
                    "that the model chooses well when to call: it was told to",
                    f"that the {streams} requests ran together: they were sent together (see overlap)",
                    "what the model says once it is given the tool's result",
                ),
                configured=await configured_fields(target),
            ),
        )


def pick_operands(rng: random.Random, streams: int) -> list[Operands]:
    """Return one pair of numbers for each stream, all numbers of a round different."""
    numbers = rng.sample(range(11, 9990), 2 * streams)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


async def _round(
    target: Target, parameters: FunctionParameters, operands: Sequence[Operands], *, stream: bool
) -> tuple[Completion, ...]:
    requests = [
        chat_request(
            target,
            f"Use the tool add to add {a} and {b}. Call the tool once, and say nothing else.",
            max_tokens=parameters.max_tokens,
            stream=stream,
            tools=[ADD_TOOL],
            tool_choice="auto",
        )
        for a, b in operands
    ]
    limits = limits_for(parameters.max_tokens, parameters.timeout)
    return (await run_load(target.base_url, requests, target.engine.warm, limits)).completions


def wrongs(completion: Completion, operands: Sequence[Operands], number: int, word: str | None) -> list[str]:
    """Return everything that is wrong with one stream's answer; an empty list for a right call."""
    if not completion.tool_calls:
        return [f"no tool call came; it said {completion.content[:80]!r} and ended with {word!r}"]
    complaints = [] if len(completion.tool_calls) == 1 else [f"{len(completion.tool_calls)} calls came instead of one"]
    call = completion.tool_calls[0]
    if call.name != "add":
        complaints.append(f"the call is to {call.name!r}")
    if not call.id:
        complaints.append("the call has no id")
    if word != "tool_calls":
        complaints.append(f"the finish reason is {word!r} instead of 'tool_calls'")
    if completion.usage is None or completion.completion_tokens is None:
        complaints.append("usage did not come")
    if call.arguments_type != "str":
        complaints.append(f"the arguments are a {call.arguments_type}, not JSON text")
    return complaints + _wrong_arguments(call.arguments, operands, number)


def _wrong_arguments(text: str, operands: Sequence[Operands], number: int) -> list[str]:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return [f"the arguments are not JSON: {text[:80]!r}"]
    if isinstance(arguments, str):
        return ["the arguments are JSON encoded twice"]
    if not isinstance(arguments, dict) or set(arguments) != {"a", "b"}:
        return [f"the arguments are not exactly a and b: {text[:80]}"]
    values = (arguments["a"], arguments["b"])
    for name, value in zip("ab", values, strict=True):
        if type(value) is not int:
            return [f"{name} is {json.dumps(value)}, a {type(value).__name__}, not a whole number"]
    if values == operands[number]:
        return []
    whose = [other for other, pair in enumerate(operands) if values == pair]
    if whose:
        return [f"it carries the numbers of stream {whose[0]}: {values[0]} and {values[1]}"]
    return [f"it adds {values[0]} and {values[1]} instead of {operands[number][0]} and {operands[number][1]}"]


def most_at_once(completions: Sequence[Completion]) -> int:
    """Return how many requests were open at the same time, from sending to the last byte."""
    moments = [(c.sent_ns, 1) for c in completions if c.sent_ns] + [(c.ended_ns, -1) for c in completions if c.sent_ns]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most
