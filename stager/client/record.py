"""What one completion request became: times, text, ends and faults, as frozen data.

All times are ``time.perf_counter_ns`` of this process. A time belongs to a *read*, so each read keeps
how many events came with it: several events in one read share one time, and that is visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Ended(StrEnum):
    """Why reading stopped."""

    COMPLETE = "complete"  # the server ended the answer
    CUT = "cut"  # we ended it on purpose
    DISCONNECTED = "disconnected"  # the connection broke in mid-answer
    REFUSED = "refused"  # no connection, or a status other than 2xx
    LIMIT = "limit"  # a bound on size or count was passed
    TIMEOUT = "timeout"  # a bound on time was passed
    MALFORMED = "malformed"  # the answer is not what the protocol allows


class DeltaKind(StrEnum):
    """What a piece of output is."""

    CONTENT = "content"
    REASONING = "reasoning"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Read:
    """One read from the socket: when, how many bytes, how many events it completed."""

    at_ns: int
    size: int
    events: int


@dataclass(frozen=True, slots=True)
class Delta:
    """One non-empty piece of output and the time of the read that brought it."""

    at_ns: int
    kind: DeltaKind
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call put together from its fragments.

    ``arguments`` is the text as sent; where a server sent a JSON object instead of a string (llama.cpp
    20198), it is that object as JSON and ``arguments_type`` says ``dict`` instead of ``str``.
    """

    index: int
    id: str
    name: str
    arguments: str
    arguments_type: str = "str"


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server gave them, and whether the chunk that carried them also had choices."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    with_choices: bool


@dataclass(frozen=True, slots=True)
class Completion:
    """The record of one chat or text completion, streamed or plain.

    ``sent_ns`` is when the request's last byte was handed to the socket; None if it never was.
    ``error`` is a transport fault or an error the server reported, under whatever status. ``faults`` are breaches
    of the protocol; those of them that lost or mangled output are in ``unreadable`` too.
    """

    path: str
    streamed: bool
    started_ns: int
    sent_ns: int | None
    headers_ns: int | None
    ended_ns: int
    ended: Ended
    status: int | None
    reused_connection: bool
    reads: tuple[Read, ...]
    deltas: tuple[Delta, ...]
    tool_calls: tuple[ToolCall, ...]
    finish_reasons: tuple[str, ...]
    usage: Usage | None
    done_markers: int
    after_done: int
    comments: int
    first_event_ns: int | None
    faults: tuple[str, ...]
    error: str | None
    extras: dict[str, Any]
    raw: bytes
    raw_truncated: bool
    unreadable: tuple[str, ...] = ()

    @property
    def finish_reason(self) -> str | None:
        """The last finish reason the server gave, wherever it put it; None where it gave none."""
        return self.finish_reasons[-1] if self.finish_reasons else None

    @property
    def content(self) -> str:
        """All content deltas joined."""
        return "".join(delta.text for delta in self.deltas if delta.kind is DeltaKind.CONTENT)

    @property
    def reasoning(self) -> str:
        """All reasoning deltas joined."""
        return "".join(delta.text for delta in self.deltas if delta.kind is DeltaKind.REASONING)

    @property
    def first_token_ns(self) -> int | None:
        """When the first non-empty output came."""
        return self.deltas[0].at_ns if self.deltas else None

    @property
    def last_token_ns(self) -> int | None:
        """When the last non-empty output came."""
        return self.deltas[-1].at_ns if self.deltas else None

    @property
    def ttft(self) -> float | None:
        """Seconds from the request sent to the first non-empty content, reasoning or tool-argument delta.

        A role-only delta and comments do not count (AIPerf's TTFT metric, NVIDIA NIM's metric page).
        """
        return _seconds(self.sent_ns, self.first_token_ns)

    @property
    def ttfr(self) -> float | None:
        """Seconds from the request sent to the first event of any kind (llama-benchy's TTFR)."""
        return _seconds(self.sent_ns, self.first_event_ns)

    @property
    def whole(self) -> bool:
        """Whether the answer came to its own end without any error."""
        return self.ended is Ended.COMPLETE and self.error is None

    @property
    def completion_tokens(self) -> int | None:
        """``usage.completion_tokens``, None where the server sent no usage."""
        return self.usage.completion_tokens if self.usage else None

    @property
    def prompt_tokens(self) -> int | None:
        """``usage.prompt_tokens``, None where the server sent no usage."""
        return self.usage.prompt_tokens if self.usage else None


def _seconds(begin: int | None, end: int | None) -> float | None:
    return None if begin is None or end is None else (end - begin) / 1e9
