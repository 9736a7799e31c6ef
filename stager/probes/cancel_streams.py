"""The cancel probe's requests under way, and how their clients leave."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stager.client.completion import CompletionRequest, Cut, How, complete
from stager.client.connection import connect
from stager.client.record import Completion
from stager.probes.cancel_bench import Bench
from stager.probes.requests import limits_for


@dataclass(slots=True)
class Running:
    """A request under way, and the moment it begins to speak."""

    task: asyncio.Task[Completion]
    speaking: asyncio.Event
    tokens: int

    async def speaks(self, within: float) -> bool:
        """Wait until the first output; False if it ended or took too long before that."""
        waiter = asyncio.ensure_future(self.speaking.wait())
        await asyncio.wait({waiter, self.task}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        return self.speaking.is_set()

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return not self.task.done()

    async def end(self) -> None:
        """Stop it where it is, if it still runs."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def start(bench: Bench, request: CompletionRequest) -> Running:
    """Send a request in the background."""
    speaking = asyncio.Event()

    async def send() -> Completion:
        limits = limits_for(int(request.body["max_tokens"]), bench.timeout)
        async with connect(bench.target.base_url, limits) as connection:
            return await complete(connection, request, lambda _: speaking.set())

    return Running(asyncio.ensure_future(send()), speaking, int(request.body["max_tokens"]))


def leaving(
    way: How,
    bench: Bench,
    *,
    after_deltas: int | None = None,
    after_s: float | None = None,
    on: asyncio.Event | None = None,
) -> Cut:
    """Return a cut that, half-closed, goes on reading for half the grace and then closes."""
    return Cut(way, after_deltas=after_deltas, after_s=after_s, on=on, linger=bench.grace / 2)
