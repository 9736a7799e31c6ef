"""One chat or text completion on one connection, timed, bounded, and able to be cut at a chosen moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import aiohttp

from stager.client.assembly import Assembly
from stager.client.connection import Connection, Marks
from stager.client.limits import LimitExceeded
from stager.client.record import Completion, Ended, Read
from stager.client.sse import SseParser
from stager.client.ticks import ticks


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
    """What to send: path and JSON body; ``stream`` in the body decides how the answer is read."""

    path: str
    body: dict[str, Any]
    cut: Cut | None = None
    delay_s: float = 0.0
    keep_raw: bool = True

    @property
    def streamed(self) -> bool:
        """Whether the answer is asked for as an event stream."""
        return bool(self.body.get("stream"))


@dataclass(slots=True)
class _State:
    """What is known while the answer comes in."""

    started_ns: int
    assembly: Assembly
    parser: SseParser
    marks: Marks = field(default_factory=Marks)
    reads: list[Read] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    raw: bytearray = field(default_factory=bytearray)
    raw_truncated: bool = False
    size: int = 0
    first_event_ns: int | None = None
    status: int | None = None
    is_events: bool = False
    due: asyncio.Event = field(default_factory=asyncio.Event)


async def complete(
    connection: Connection, request: CompletionRequest, on_delta: Callable[[int], None] | None = None
) -> Completion:
    """Send one completion request and read its answer to the end, to a bound, or to the cut.

    Whatever the server does becomes part of the record; only cancellation of this coroutine is raised.

    Args:
        connection: an open, usually warmed, connection; not used by anyone else meanwhile.
        request: what to send, and when to leave.
        on_delta: called with the number of non-empty deltas so far, after each read that brought some.
    """
    state = _State(ticks(), Assembly(connection.limits), SseParser(connection.limits))
    reading = asyncio.ensure_future(_read_all(connection, request, state, on_delta))
    cut = asyncio.ensure_future(_wait_for_cut(request.cut, state)) if request.cut else None
    ended, error = Ended.COMPLETE, None
    try:
        await asyncio.wait({reading, cut} if cut else {reading}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done() and request.cut:
            ended = Ended.CUT
            await _leave(connection, request.cut, reading)
        if reading.done() and not reading.cancelled():
            outcome = _outcome(reading, request)
            ended, error = (ended, None) if ended is Ended.CUT else outcome
    finally:
        for task in (reading, cut):
            if task is not None and not task.done():
                task.cancel()
        await asyncio.gather(*(task for task in (reading, cut) if task), return_exceptions=True)
    return _record(request, state, ended, error)


async def _read_all(
    connection: Connection, request: CompletionRequest, state: _State, on_delta: Callable[[int], None] | None
) -> None:
    limits = connection.limits
    async with connection.session.post(
        connection.url(request.path), json=request.body, timeout=connection.timeout(None), trace_request_ctx=state.marks
    ) as response:
        state.marks.headers_ns = ticks()
        state.status = response.status
        kind = response.headers.get("Content-Type", "")
        state.is_events = kind.startswith("text/event-stream")
        try:
            while piece := await response.content.readany():
                _take(piece, ticks(), state, request, limits.body, limits.reads, limits.raw)
                if on_delta and state.assembly.deltas:
                    on_delta(len(state.assembly.deltas))
                _check_cut(request.cut, state)
        except BaseException:
            response.close()  # never hand a connection back that still has an answer on it
            raise


def _take(
    piece: bytes, now: int, state: _State, request: CompletionRequest, most: int, most_reads: int, most_raw: int
) -> None:
    state.size += len(piece)
    if request.keep_raw:
        room = max(0, most_raw - len(state.raw))
        state.raw += piece[:room]
        state.raw_truncated |= len(piece) > room
    if state.size > most:
        raise LimitExceeded(f"the answer is longer than {most} bytes")
    if len(state.reads) >= most_reads:
        raise LimitExceeded(f"the answer came in more than {most_reads} reads")
    if not state.is_events:
        state.body += piece
        state.reads.append(Read(now, len(piece), 0))
        return
    events = state.parser.feed(piece)
    state.reads.append(Read(now, len(piece), len(events)))
    if events and state.first_event_ns is None:
        state.first_event_ns = now
    for event in events:
        state.assembly.event(event, now)


def _check_cut(cut: Cut | None, state: _State) -> None:
    if cut and cut.after_deltas is not None and len(state.assembly.deltas) >= cut.after_deltas:
        state.due.set()


async def _wait_for_cut(cut: Cut, state: _State) -> None:
    waits = [asyncio.ensure_future(state.due.wait())]
    if cut.on is not None:
        waits.append(asyncio.ensure_future(cut.on.wait()))
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


def _outcome(reading: asyncio.Future[None], request: CompletionRequest) -> tuple[Ended, str | None]:
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
            return Ended.DISCONNECTED, f"the connection broke: {fault}"
        case aiohttp.ClientResponseError() | ValueError() as fault:
            return Ended.MALFORMED, f"the answer is not valid HTTP: {_brief(fault)}"
        case aiohttp.ClientError() | OSError() as fault:
            return Ended.DISCONNECTED, f"the connection broke: {_brief(fault)}"
        case fault:
            raise fault


def _record(request: CompletionRequest, state: _State, ended: Ended, error: str | None) -> Completion:
    assembly = state.assembly
    if state.is_events:
        if state.parser.close():
            assembly.fault("the stream ended in the middle of an event")
    elif state.body and ended is Ended.COMPLETE:
        assembly.chunk(state.body.decode(errors="replace"), state.reads[-1].at_ns)
    if state.status is not None and not 200 <= state.status < 300 and ended is Ended.COMPLETE:
        ended = Ended.REFUSED
        error = assembly.error or f"status {state.status}: {state.body[:200].decode(errors='replace')}"
    if ended is Ended.COMPLETE:
        _protocol_faults(request, state)
    if state.parser.broken_text:
        assembly.fault(f"{state.parser.broken_text} lines were not valid UTF-8")
    return Completion(
        path=request.path,
        streamed=request.streamed,
        started_ns=state.started_ns,
        sent_ns=state.marks.sent_ns,
        headers_ns=state.marks.headers_ns,
        ended_ns=ticks(),
        ended=ended,
        status=state.status,
        reused_connection=state.marks.reused,
        reads=tuple(state.reads),
        deltas=tuple(assembly.deltas),
        tool_calls=assembly.tool_calls,
        finish_reasons=tuple(assembly.finish_reasons),
        usage=assembly.usage,
        done_markers=assembly.done_markers,
        after_done=assembly.after_done,
        comments=state.parser.comments,
        first_event_ns=state.first_event_ns,
        faults=tuple(assembly.faults),
        error=error or assembly.error,
        extras=assembly.extras,
        raw=bytes(state.raw),
        raw_truncated=state.raw_truncated,
    )


def _protocol_faults(request: CompletionRequest, state: _State) -> None:
    assembly = state.assembly
    if request.streamed and not state.is_events:
        assembly.fault("a stream was asked for and the answer is not text/event-stream")
    if not state.is_events:
        return
    if assembly.done_markers == 0:
        assembly.fault("the stream ended without [DONE]")
    if assembly.done_markers > 1:
        assembly.fault(f"[DONE] came {assembly.done_markers} times")
    if assembly.after_done:
        assembly.fault(f"{assembly.after_done} events came after [DONE]")


def _brief(fault: BaseException) -> str:
    words = str(fault) or type(fault).__name__
    return words if len(words) <= 300 else f"{words[:300]}…"
