"""Prompts in several windows at once, kept decoding until the last one has begun, then let go together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from stager.client.completion import CompletionRequest, Cut, complete
from stager.client.connection import connect
from stager.client.record import Completion, Ended
from stager.probes.longprompt import Haystack, question_request
from stager.probes.requests import limits_for
from stager.probes.target import Target

#: Tokens each stream goes on for once the last one has begun.
TOGETHER_TOKENS = 8


@dataclass(slots=True)
class Together:
    """Which streams have begun, and the moment all of them have; then, or when one has ended, all are let go."""

    wanted: int
    begun: set[int] = field(default_factory=set)
    all_begun: asyncio.Event = field(default_factory=asyncio.Event)
    deltas_then: dict[int, int] = field(default_factory=dict)
    deltas: dict[int, int] = field(default_factory=dict)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    def spoke(self, stream: int, deltas: int) -> None:
        """Note a stream's progress."""
        self.begun.add(stream)
        self.deltas[stream] = deltas
        if len(self.begun) == self.wanted and not self.all_begun.is_set():
            self.all_begun.set()
            self.deltas_then = dict(self.deltas)
        if self.all_begun.is_set() and all(
            self.deltas[s] - then >= TOGETHER_TOKENS for s, then in self.deltas_then.items()
        ):
            self.let_go.set()


def exact(target: Target, max_tokens: int) -> dict[str, Any]:
    """What keeps a chat going to ``max_tokens``, where the engine knows such a thing."""
    return {k: max_tokens if v == "max_tokens" else v for k, v in target.engine.exact_length.items()}


async def all_at_once(
    target: Target, timeout_s: float, hays: list[Haystack], max_tokens: int, together: Together
) -> list[Completion]:
    """Ask every haystack's first question at the same time; all are let go together."""

    async def one(stream: int, hay: Haystack) -> Completion:
        request = question_request(target, hay, hay.needles[0].question, max_tokens, fresh=True)
        body = {**request.body, **exact(target, max_tokens)}
        async with connect(target.base_url, limits_for(max_tokens, timeout_s)) as connection:
            cut = CompletionRequest(request.path, body, cut=Cut(on=together.let_go), keep_raw=False)
            completion = await complete(connection, cut, lambda deltas: together.spoke(stream, deltas))
        if completion.ended is not Ended.CUT:
            together.let_go.set()  # one has ended by itself: whoever has not begun by now had to wait for it
        return completion

    return list(await asyncio.gather(*(one(stream, hay) for stream, hay in enumerate(hays))))
