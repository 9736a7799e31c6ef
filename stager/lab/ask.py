"""What a client asked of the lab engine, parsed once from the request's body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stager.lab.tokens import pieces, render_chat


@dataclass(frozen=True)
class Ask:
    """One completion request, chat or raw."""

    chat: bool
    tokens: tuple[str, ...]
    max_tokens: int
    stream: bool
    usage: bool
    ignore_eos: bool
    tool: str | None


def parse_ask(body: Mapping[str, Any], *, chat: bool, context: int) -> Ask:
    """Read a completion body in OpenAI's form.

    Raises:
        ValueError: the body has no prompt or messages, or its max_tokens is not a positive number.
    """
    text = render_chat(body["messages"]) if chat and "messages" in body else body.get("prompt")
    if not isinstance(text, str):
        raise ValueError("a prompt (text) or messages are needed")
    tokens = tuple(pieces(text))
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or max(1, context - len(tokens))
    if not isinstance(limit, int) or limit < 1:
        raise ValueError("max_tokens must be a positive whole number")
    tools = body.get("tools") or []
    usable = bool(tools) and body.get("tool_choice", "auto") != "none"
    stream = bool(body.get("stream"))
    return Ask(
        chat=chat,
        tokens=tokens,
        max_tokens=limit,
        stream=stream,
        usage=not stream or bool((body.get("stream_options") or {}).get("include_usage")),
        ignore_eos=bool(body.get("ignore_eos")) or int(body.get("min_tokens") or 0) >= limit,
        tool=tools[0]["function"]["name"] if usable else None,
    )
