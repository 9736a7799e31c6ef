"""Puts one completion together from the chunks a server sends, strict about nothing, noting everything.

Engines differ in where they put what (usage with or without choices, the finish reason alone on the
usage chunk, an error under status 200, reasoning under two names); all of it lands in the same record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from stager.client.limits import LimitExceeded, Limits
from stager.client.record import Delta, DeltaKind, ToolCall, Usage
from stager.client.sse import Event

DONE = "[DONE]"
_ORDINARY = frozenset({"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "error"})
_KEPT_EXTRAS = 32


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""
    arguments_type: str = "str"


class Assembly:
    """Takes events (or one plain JSON body) and accumulates output, ends, usage and faults."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._calls: dict[int, _PartialCall] = {}
        self._events = 0
        self.deltas: list[Delta] = []
        self.finish_reasons: list[str] = []
        self.usage: Usage | None = None
        self.done_markers = 0
        self.after_done = 0
        self.error: str | None = None
        self.extras: dict[str, Any] = {}
        self.faults: list[str] = []
        self.unreadable: list[str] = []

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls so far, in the order of their index."""
        return tuple(
            ToolCall(index, call.id, call.name, call.arguments, call.arguments_type)
            for index, call in sorted(self._calls.items())
        )

    def event(self, event: Event, at_ns: int) -> None:
        """Take one server-sent event.

        Raises:
            LimitExceeded: more events than the limits allow.
        """
        self._events += 1
        if self._events > self._limits.events:
            raise LimitExceeded(f"more than {self._limits.events} events in one answer")
        if event.data.strip() == DONE:
            self.done_markers += 1
            return
        if self.done_markers:
            self.after_done += 1
        self.chunk(event.data, at_ns)
        if event.name == "error" and self.error is None:
            self.error = _brief(event.data)

    def chunk(self, text: str, at_ns: int) -> None:
        """Take one JSON chunk, or the whole JSON body of a plain answer."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            self.fault(f"a chunk is not JSON ({type(error).__name__}): {_brief(text)}", unreadable=True)
            return
        if not isinstance(value, dict):
            self.fault(f"a chunk is {type(value).__name__}, not an object", unreadable=True)
            return
        if value.get("error") is not None and self.error is None:
            self.error = _error_words(value["error"])
        choices = value.get("choices")
        choices = choices if isinstance(choices, list) else []
        for choice in choices:
            if isinstance(choice, dict):
                self._choice(choice, at_ns)
        if isinstance(value.get("usage"), dict):
            self.usage = _usage(value["usage"], with_choices=bool(choices))
        for key, extra in value.items():
            if key not in _ORDINARY and (key in self.extras or len(self.extras) < _KEPT_EXTRAS):
                self.extras[key] = extra

    def fault(self, words: str, *, unreadable: bool = False) -> None:
        """Note a breach of the protocol, each wording once; ``unreadable`` if it lost or mangled output."""
        if words not in self.faults and len(self.faults) < _KEPT_EXTRAS:
            self.faults.append(words)
            if unreadable:
                self.unreadable.append(words)

    def _choice(self, choice: dict[str, Any], at_ns: int) -> None:
        if choice.get("index") not in (0, None):
            self.fault(f"a choice with index {choice.get('index')!r} where one choice was asked for")
        part = choice.get("delta")
        if not isinstance(part, dict):
            part = choice.get("message")
        # Some servers fill the chat's and the raw route's place in one chunk: one output, so it is taken once.
        content = None
        if isinstance(part, dict):
            content = part.get("content")
            self._text(part.get("reasoning_content") or part.get("reasoning"), DeltaKind.REASONING, at_ns)
            self._text(content, DeltaKind.CONTENT, at_ns)
            calls = part.get("tool_calls")
            for position, call in enumerate(calls if isinstance(calls, list) else []):
                if isinstance(call, dict):
                    self._tool_call(call, position, at_ns)
        text = choice.get("text")
        if not content:
            self._text(text, DeltaKind.CONTENT, at_ns)
        elif text and text != content:
            self.fault("a chunk brought one content as its delta and another as its text", unreadable=True)
        reason = choice.get("finish_reason")
        if reason is not None:
            self.finish_reasons.append(str(reason))
        for key in ("stop_reason", "matched_stop", "eos_reason"):
            if choice.get(key) is not None:
                self.extras[key] = choice[key]

    def _text(self, text: object, kind: DeltaKind, at_ns: int) -> None:
        if isinstance(text, str):
            if text:
                self.deltas.append(Delta(at_ns, kind, text))
        elif text is not None:
            self.fault(f"{kind.value} output is {type(text).__name__}, not text")

    def _tool_call(self, call: dict[str, Any], position: int, at_ns: int) -> None:
        index = call.get("index")
        partial = self._calls.setdefault(index if isinstance(index, int) else position, _PartialCall())
        if isinstance(call.get("id"), str):
            partial.id = partial.id or call["id"]
        function = call.get("function")
        if not isinstance(function, dict):
            return
        if isinstance(function.get("name"), str):
            partial.name += function["name"]
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            partial.arguments_type = type(arguments).__name__
            arguments = json.dumps(arguments)
        if arguments:
            partial.arguments += arguments
            self.deltas.append(Delta(at_ns, DeltaKind.TOOL, arguments))


#: JSON numbers are exact up to here in every reader (RFC 8259, section 6).
_MOST_COUNTED = 2**53


def _usage(usage: dict[str, Any], *, with_choices: bool) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached), with_choices
    )


def _count(value: object) -> int | None:
    """A count as JSON can carry it exactly; anything else is none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < _MOST_COUNTED else None  # type: ignore[operator, return-value]


def _error_words(error: object) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return _brief(error["message"]) or "an error without words"
    return _brief(json.dumps(error, default=str))


def _brief(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
