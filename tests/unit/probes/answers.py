"""A completion record with only what a test cares about."""

from __future__ import annotations

from typing import Any

from stager.client.record import Completion, Delta, DeltaKind, Ended, Usage


def answer(text: str = "", **changes: Any) -> Completion:
    """A whole streamed answer; ``changes`` replace fields of the record."""
    whole: dict[str, Any] = {
        "path": "/v1/chat/completions",
        "streamed": True,
        "started_ns": 1,
        "sent_ns": 1,
        "headers_ns": 2,
        "ended_ns": 100,
        "ended": Ended.COMPLETE,
        "status": 200,
        "reused_connection": True,
        "reads": (),
        "deltas": tuple(Delta(10 + i, DeltaKind.CONTENT, word) for i, word in enumerate(text.split(" ")) if word),
        "tool_calls": (),
        "finish_reasons": ("stop",),
        "usage": Usage(10, 5, None, with_choices=False),
        "done_markers": 1,
        "after_done": 0,
        "comments": 0,
        "first_event_ns": 5,
        "faults": (),
        "error": None,
        "extras": {},
        "raw": b"",
        "raw_truncated": False,
    }
    return Completion(**{**whole, **changes})
