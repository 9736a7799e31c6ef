"""One chat or text completion on one connection: timed, bounded, and left at a chosen moment if asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from stager.client.connection import Connection, Marks
from stager.client.incoming import Incoming
from stager.client.limits import LimitExceeded
from stager.client.record import Completion, Ended
from stager.client.requests import CompletionRequest, Cut, How
from stager.client.ticks import ticks

__all__ = ["CompletionRequest", "Cut", "How", "complete"]


async def complete(
    connection: Connection, request: CompletionRequest, on_delta: Callable[[int], None] | None = None
) -> Completion:
    """Send one completion request and read its answer to the end, to a bound, or to the cut.

    Whatever the server does becomes part of the record; only cancellation of this coroutine is raised.

    Args:
        connection: an open, usually warmed, connection; not used by anyone else meanwhile.
        request: what to send, and when to leave.
        on_delta: called with the number of non-empty deltas so far, after each read that finds some.
    """
    incoming = Incoming(request, connection.limits, ticks())
    enough = asyncio.Event()
    reading = asyncio.ensure_future(_read_all(connection, incoming, enough, on_delta))
    cut = asyncio.ensure_future(_moment_to_leave(request.cut, enough)) if request.cut else None
    ended, error = Ended.COMPLETE, None
    try:
        await asyncio.wait({reading, cut} if cut else {reading}, return_when=asyncio.FIRST_COMPLETED)
        if request.cut and not reading.done():
            ended = Ended.CUT
            await _leave(connection, request.cut, reading)
        if not reading.cancelled() and ended is not Ended.CUT:
            ended, error = _outcome(reading)
    finally:
        tasks = [task for task in (reading, cut) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return incoming.finish(ended, error, ticks())


async def _read_all(
    connection: Connection, incoming: Incoming, enough: asyncio.Event, on_delta: Callable[[int], None] | None
) -> None:
    request, marks = incoming.request, Marks()
    try:
        async with connection.session.post(
            connection.url(request.path),
            json=request.body,
            timeout=connection.timeout(None),
            trace_request_ctx=marks,
            allow_redirects=False,  # another server's answer says nothing about this one
        ) as response:
            incoming.headers_ns = ticks()
            incoming.status = response.status
            incoming.is_events = response.headers.get("Content-Type", "").startswith("text/event-stream")
            try:
                while piece := await response.content.readany():
                    incoming.take(piece, ticks())
                    if incoming.deltas:
                        if on_delta:
                            on_delta(incoming.deltas)
                        _enough(request.cut, incoming.deltas, enough)
            except BaseException:
                response.close()  # never hand a connection back that still has an answer on it
                raise
    finally:
        incoming.sent_ns, incoming.reused_connection = marks.sent_ns, marks.reused


def _enough(cut: Cut | None, deltas: int, enough: asyncio.Event) -> None:
    if cut and cut.after_deltas is not None and deltas >= cut.after_deltas:
        enough.set()


async def _moment_to_leave(cut: Cut, enough: asyncio.Event) -> None:
    """Return at the first of the cut's moments."""
    waits = [asyncio.ensure_future(event.wait()) for event in (enough, cut.on) if event is not None]
    try:
        await asyncio.wait(waits, timeout=cut.after_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _leave(connection: Connection, cut: Cut, reading: asyncio.Future[None]) -> None:
    if cut.how is How.RESET:
        connection.reset_on_close()
    if cut.how is How.HALF_CLOSE:
        connection.half_close()
        await asyncio.wait({reading}, timeout=cut.linger)
    if not reading.done():
        reading.cancel()
        await asyncio.wait({reading})


def _outcome(reading: asyncio.Future[None]) -> tuple[Ended, str | None]:
    """Name the way the reading ended."""
    match reading.exception():
        case None:
            return Ended.COMPLETE, None
        case LimitExceeded() as fault:
            return Ended.LIMIT, str(fault)
        case TimeoutError():
            return Ended.TIMEOUT, "the time for the answer was over"
        case aiohttp.ClientConnectorError() as fault:
            return Ended.REFUSED, f"no connection: {fault}"
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionError() as fault:
            return Ended.DISCONNECTED, f"the connection broke: {_brief(fault)}"
        case aiohttp.ClientResponseError() | ValueError() as fault:
            return Ended.MALFORMED, f"the answer is not valid HTTP: {_brief(fault)}"
        case aiohttp.ClientError() | OSError() as fault:
            return Ended.DISCONNECTED, f"the connection broke: {_brief(fault)}"
        case fault:
            raise fault


def _brief(fault: BaseException) -> str:
    words = str(fault) or type(fault).__name__
    return words if len(words) <= 300 else f"{words[:300]}…"
