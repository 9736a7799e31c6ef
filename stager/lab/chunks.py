"""The lab engine's answers in OpenAI's form; here endings, usage and tool calls may lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stager.lab.knobs import Knobs
from stager.lab.sequence import Sequence

Chunk = dict[str, Any]


def finish_reason(sequence: Sequence, knobs: Knobs) -> str | None:
    """Return the finish reason as published."""
    if knobs.finish_null:
        return None
    if knobs.finish_empty:
        return ""
    if sequence.finish == "tool_calls":
        return "stop" if knobs.tool_finish_stop or knobs.tool_call_dropped else "tool_calls"
    if knobs.finish_wrong and sequence.finish == "length":
        return "stop"
    return "length" if knobs.finish_always_length else sequence.finish


def usage(sequence: Sequence, knobs: Knobs) -> Chunk:
    """Return the usage block as published."""
    read = len(sequence.ask.tokens if knobs.usage_hides_drop else sequence.shown)
    said = len(sequence.spoken)
    if knobs.usage_wrong:
        said = 2 * said - 1
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}


def _envelope(sequence: Sequence, choices: list[Chunk]) -> Chunk:
    kind = "chat.completion.chunk" if sequence.ask.chat else "text_completion"
    return {"id": f"cmpl-{sequence.number}", "object": kind, "created": 0, "model": "lab", "choices": choices}


def _choice(sequence: Sequence, delta: Chunk, finish: str | None = None) -> Chunk:
    if sequence.ask.chat:
        return _envelope(sequence, [{"index": 0, "delta": delta, "finish_reason": finish}])
    return _envelope(sequence, [{"index": 0, "text": delta.get("content") or "", "finish_reason": finish}])


def _calls(sequence: Sequence, knobs: Knobs) -> int:
    called = sequence.reply is not None and sequence.reply.call is not None
    return (2 if knobs.tool_call_doubled else 1) if called and not knobs.tool_call_dropped else 0


def arguments(sequence: Sequence, knobs: Knobs) -> Any:  # noqa: ANN401
    """Return a call's arguments as published: the JSON text, unless a knob bends it; only a stream is ever cut."""
    assert sequence.reply is not None
    assert sequence.reply.call is not None
    values: dict[str, Any] = dict(sequence.reply.call.arguments)
    if knobs.arguments_as_strings:
        values = {name: str(value) for name, value in values.items()}
    if knobs.arguments_as_object:
        return values
    text = json.dumps(values)
    if knobs.arguments_encoded_twice:
        return json.dumps(text)
    return text[:-4] if knobs.arguments_cut and sequence.ask.stream else text


def _call_deltas(sequence: Sequence, knobs: Knobs) -> Iterator[Chunk]:
    assert sequence.reply is not None
    assert sequence.reply.call is not None
    whole = arguments(sequence, knobs)
    for index in range(_calls(sequence, knobs)):
        identity = {} if knobs.tool_id_missing else {"id": f"call-{sequence.number}-{index}"}
        start = {"index": index, "type": "function", **identity}
        name = sequence.reply.call.name
        if not isinstance(whole, str):
            yield {"tool_calls": [{**start, "function": {"name": name, "arguments": whole}}]}
            continue
        yield {"tool_calls": [{**start, "function": {"name": name, "arguments": ""}}]}
        for at in range(0, len(whole), 5):
            yield {"tool_calls": [{"index": index, "function": {"arguments": whole[at : at + 5]}}]}


def opening(sequence: Sequence) -> Iterator[Chunk]:
    """Yield what comes before the first token."""
    if sequence.ask.chat:
        yield _choice(sequence, {"role": "assistant", "content": None})


def content(sequence: Sequence, token: str, knobs: Knobs) -> Iterator[Chunk]:
    """Yield the chunk of one token; a tool call's tokens come at the end instead."""
    if not _calls(sequence, knobs):
        yield _choice(sequence, {"content": token})


def ending(sequence: Sequence, knobs: Knobs) -> Iterator[Chunk]:
    """Yield what comes after the last token: tool call, finish reason, usage."""
    if sequence.error is not None:
        yield {"error": {"message": sequence.error, "type": "server_error", "code": 500}}
        return
    if _calls(sequence, knobs):
        for delta in _call_deltas(sequence, knobs):
            yield _choice(sequence, delta)
    if not knobs.finish_missing:
        yield _choice(sequence, {}, finish_reason(sequence, knobs))
    if sequence.ask.usage and not knobs.usage_missing:
        yield {**_envelope(sequence, []), "usage": usage(sequence, knobs)}


def whole_answer(sequence: Sequence, text: str, knobs: Knobs) -> Chunk:
    """Return the answer to a request that did not ask for a stream."""
    choice: Chunk = {"index": 0, "finish_reason": finish_reason(sequence, knobs)}
    if knobs.finish_missing:
        del choice["finish_reason"]
    calls = _calls(sequence, knobs)
    if sequence.ask.chat:
        message: Chunk = {"role": "assistant", "content": None if calls else text}
        if calls:
            assert sequence.reply is not None
            assert sequence.reply.call is not None
            function = {"name": sequence.reply.call.name, "arguments": arguments(sequence, knobs)}
            identity = {} if knobs.tool_id_missing else {"id": f"call-{sequence.number}"}
            message["tool_calls"] = [{"type": "function", "function": function, **identity} for _ in range(calls)]
        choice["message"] = message
    else:
        choice["text"] = text
    answer = {**_envelope(sequence, [choice]), "object": "chat.completion" if sequence.ask.chat else "text_completion"}
    return answer if knobs.usage_missing else {**answer, "usage": usage(sequence, knobs)}
