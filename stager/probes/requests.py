"""How every probe asks for one completion: bounded by what was asked for, on a connection of its own."""

from __future__ import annotations

from typing import Any

from stager.client.completion import CompletionRequest, Cut, complete
from stager.client.connection import connect
from stager.client.limits import Limits
from stager.client.record import Completion
from stager.probes.target import Target

#: Room for an answer: per token a chunk of at most 4 KiB with its extras, and as much again as 1,000 tokens.
_BYTES_PER_TOKEN = 4096
_SPARE_TOKENS = 1000


def limits_for(max_tokens: int, within: float) -> Limits:
    """Return bounds no honest answer of ``max_tokens`` passes, and that no answer outlasts ``within`` seconds."""
    tokens = max_tokens + _SPARE_TOKENS
    size = tokens * _BYTES_PER_TOKEN
    return Limits(
        line=min(size, 1 << 20),
        event=min(size, 1 << 20),
        events=4 * tokens,
        reads=8 * tokens,
        body=size,
        raw=0,
        connect=min(10.0, within),
        idle=within,
        total=within,
    )


def chat_request(
    target: Target,
    text: str,
    *,
    max_tokens: int,
    stream: bool = True,
    exact: bool = False,
    cut: Cut | None = None,
    **more: Any,  # noqa: ANN401
) -> CompletionRequest:
    """A chat completion with one user message, on the route production uses."""
    engine = target.engine
    body = engine.chat_body(target.model, text, max_tokens=max_tokens, stream=stream, exact=exact, **more)
    return CompletionRequest(engine.chat, body, cut=cut, keep_raw=False)


def generation_request(
    target: Target, text: str, *, max_tokens: int, exact: bool = True, stream: bool = True, cut: Cut | None = None
) -> CompletionRequest:
    """A generation on the route with the least between step and stream."""
    path, body = target.engine.generation(target.model, text, max_tokens=max_tokens, exact=exact, stream=stream)
    return CompletionRequest(path, body, cut=cut, keep_raw=False)


async def ask_once(target: Target, request: CompletionRequest, within: float) -> Completion:
    """Send one completion request on a fresh connection and read it to its end, bounded."""
    async with connect(target.base_url, limits_for(int(request.body["max_tokens"]), within)) as connection:
        return await complete(connection, request)
