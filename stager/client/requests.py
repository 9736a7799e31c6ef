"""What to send, and when and how to leave: values, until ``stager.client.completion`` sends them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class How(StrEnum):
    """The ways a client leaves."""

    CLOSE = "close"  # FIN: what most clients do
    RESET = "reset"  # RST: a crashed client, a cut by a middlebox
    HALF_CLOSE = "half-close"  # our side shut, still reading: until the server ends or ``linger`` is over


@dataclass(frozen=True, slots=True)
class Cut:
    """When and how to leave a request: the first of the given moments counts.

    ``after_deltas`` counts non-empty pieces of output; ``after_s`` is seconds from the sending;
    ``on`` is an event the caller sets. ``linger`` is how long a half-closed connection is still read.
    """

    how: How = How.CLOSE
    after_deltas: int | None = None
    after_s: float | None = None
    on: asyncio.Event | None = None
    linger: float = 30.0


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What to send: path and JSON body; ``stream`` in the body decides how the answer is asked for."""

    path: str
    body: dict[str, Any]
    cut: Cut | None = None
    delay_s: float = 0.0
    keep_raw: bool = True

    @property
    def streamed(self) -> bool:
        """Whether the answer is asked for as an event stream."""
        return bool(self.body.get("stream"))
