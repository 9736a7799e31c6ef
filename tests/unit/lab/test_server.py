"""The lab engine behind HTTP speaks like llama.cpp's server and the OpenAI routes."""

import asyncio
import json

from stager.client.completion import CompletionRequest, complete
from stager.client.connection import connect
from stager.lab.knobs import Knobs, Shape
from stager.lab.server import serve

FAST = Shape(step_s=0.001, context=256)


def _get(path: str, knobs: Knobs | None = None):
    async def go():
        async with serve(FAST, knobs) as url, connect(url) as connection:
            answer = await connection.get(path)
            return answer.status, answer.body

    return asyncio.run(go())


def _complete(body: dict, chat: bool = True, shape: Shape = FAST, knobs: Knobs | None = None):
    path = "/v1/chat/completions" if chat else "/v1/completions"

    async def go():
        async with serve(shape, knobs) as url, connect(url) as connection:
            return await complete(connection, CompletionRequest(path, body))

    return asyncio.run(go())


def _chat(text: str, **more):
    return {"messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 16, **more}


def test_it_tells_its_configuration_and_gauges() -> None:
    """Slots, window, metrics and health have llama.cpp's form."""
    props = json.loads(_get("/props")[1])
    assert props == {"total_slots": 4, "default_generation_settings": {"n_ctx": 256}}
    assert [slot["is_processing"] for slot in json.loads(_get("/slots")[1])] == [False] * 4
    assert b"llamacpp:requests_processing 0\n" in _get("/metrics")[1]
    assert _get("/health") == (200, b'{"status": "ok"}')


def test_a_stream_ends_with_reason_usage_and_done() -> None:
    """A streamed answer carries its finish reason, usage on request, and exactly one [DONE]."""
    completion = _complete(_chat("tell me", stream_options={"include_usage": True}))
    assert completion.whole
    assert completion.finish_reason == "length"
    assert (completion.completion_tokens, len(completion.deltas)) == (16, 16)
    assert completion.done_markers == 1
    assert completion.faults == ()


def test_usage_comes_only_when_asked_for() -> None:
    """Without stream_options no usage is streamed."""
    assert _complete(_chat("tell me")).usage is None


def test_legal_quirks_change_nothing() -> None:
    """CRLF, comments and the missing space after data: lead to the same answer."""
    plain = _complete(_chat("tell me"))
    quirky = _complete(_chat("tell me"), shape=Shape(step_s=0.001, context=256, crlf=True))
    assert quirky.content == plain.content
    assert quirky.faults == ()
    assert quirky.comments > 0


def test_a_tool_call_is_typed() -> None:
    """Asked to add, it calls add with whole numbers and says tool_calls."""
    tool = {"type": "function", "function": {"name": "add"}}
    completion = _complete(_chat("add 17 and 25", tools=[tool], max_tokens=64))
    (call,) = completion.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("add", {"a": 17, "b": 25})
    assert completion.finish_reason == "tool_calls"


def test_a_prompt_beyond_the_window_is_refused() -> None:
    """What does not fit is refused with status 400, never cut."""
    completion = _complete({"prompt": "word " * 400, "stream": True, "max_tokens": 4}, chat=False)
    assert completion.status == 400
    assert "context size" in (completion.error or "")


def test_a_body_without_prompt_is_refused() -> None:
    """A request without prompt or messages is a client's fault."""
    assert _complete({"stream": True}, chat=False).status == 400


def test_a_dead_engine_still_says_it_is_healthy() -> None:
    """The dead knob leaves the endpoint alive: that is the lie."""
    assert _get("/health", Knobs(dead=True))[0] == 200
