"""N requests at once, one warmed connection each, released together; the start's spread is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from stager.client.completion import CompletionRequest, complete
from stager.client.connection import Connection, connect, warm
from stager.client.limits import Limits
from stager.client.record import Completion
from stager.client.ticks import ticks


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What became of requests released together.

    ``released_ns`` is the moment of release; ``spread`` the seconds between the first and the last request
    sent (delayed ones left out); ``warmed`` how many connections were answered on before the release.
    """

    released_ns: int
    completions: tuple[Completion, ...]
    spread: float
    warmed: int

    @property
    def reused(self) -> int:
        """How many requests really went out on the connection that had been warmed."""
        return sum(completion.reused_connection for completion in self.completions)


@asynccontextmanager
async def warmed_connections(
    base_url: str, count: int, warm_path: str, limits: Limits | None = None
) -> AsyncIterator[tuple[list[Connection], int]]:
    """Give ``count`` connections to a server, each opened by an answered request, and how many were answered."""
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(connect(base_url, limits)) for _ in range(count)]
        answered = await asyncio.gather(*(warm(connection, warm_path) for connection in connections))
        yield connections, sum(answered)


async def run_load(
    base_url: str, requests: Sequence[CompletionRequest], warm_path: str, limits: Limits | None = None
) -> LoadResult:
    """Send all requests at the same moment (plus each one's own ``delay_s``) and wait for every end."""
    async with warmed_connections(base_url, len(requests), warm_path, limits) as (connections, answered):
        return await release(connections, requests, warmed=answered)


async def release(
    connections: Sequence[Connection], requests: Sequence[CompletionRequest], *, warmed: int = 0
) -> LoadResult:
    """Release one request on each of some connections at the same moment."""
    barrier = asyncio.Event()

    async def one(connection: Connection, request: CompletionRequest) -> Completion:
        await barrier.wait()
        if request.delay_s:
            await asyncio.sleep(request.delay_s)
        return await complete(connection, request)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*pair)) for pair in zip(connections, requests, strict=True)]
        await asyncio.sleep(0)  # every task now waits at the barrier
        released_ns = ticks()
        barrier.set()
    completions = tuple(task.result() for task in tasks)
    sent = [
        completion.sent_ns
        for completion, request in zip(completions, requests, strict=True)
        if completion.sent_ns is not None and not request.delay_s
    ]
    return LoadResult(released_ns, completions, (max(sent) - min(sent)) / 1e9 if sent else 0.0, warmed)
