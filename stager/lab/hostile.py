"""Servers that attack their client: each answers every completion with something no client may trust.

A probe that meets one must end within its bounds of memory and time, with a verdict of ``error``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Attack = Callable[[asyncio.StreamWriter], Awaitable[None]]

_OK = b"HTTP/1.1 200 OK\r\n"
_STREAM = _OK + b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_CHUNK = b'data: {"choices":[{"index":0,"text":"again","delta":{"content":"again"},"finish_reason":null}]}\n\n'
_BLOCK = b"x" * 65_536
_GIGABYTE_BLOCKS = 2**30 // len(_BLOCK)


async def endless_stream(writer: asyncio.StreamWriter) -> None:
    """Well-formed events that never end."""
    writer.write(_STREAM)
    while True:
        writer.write(_CHUNK * 64)
        await writer.drain()


async def gigabyte_line(writer: asyncio.StreamWriter) -> None:
    """One line of a gigabyte."""
    writer.write(_STREAM + b"data: ")
    for _ in range(_GIGABYTE_BLOCKS):
        writer.write(_BLOCK)
        await writer.drain()
    writer.write(b"\n\n")


async def no_newline(writer: asyncio.StreamWriter) -> None:
    """The beginning of an event, then silence."""
    writer.write(_STREAM + _CHUNK + b'data: {"choices":[')
    await writer.drain()
    await asyncio.Event().wait()


async def slow_trickle(writer: asyncio.StreamWriter) -> None:
    """One byte of a comment every 50 ms, so that no read ever times out."""
    writer.write(_STREAM)
    while True:
        writer.write(b":" if writer.transport.get_write_buffer_size() else b": ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless_event(writer: asyncio.StreamWriter) -> None:
    """One event of endlessly many short data lines."""
    writer.write(_STREAM)
    while True:
        writer.write(b"data: more\n" * 512)
        await writer.drain()


async def wrong_utf8(writer: asyncio.StreamWriter) -> None:
    """Events whose text is not UTF-8."""
    writer.write(_STREAM + b'data: {"choices":[{"text":"\xff\xfe\xc0\xaf","finish_reason":null}]}\n\n' * 8)
    writer.write(b"data: [DONE]\n\n")
    await writer.drain()


async def not_json(writer: asyncio.StreamWriter) -> None:
    """Events that are not JSON, or JSON of another shape."""
    writer.write(_STREAM + b'data: <html>\n\ndata: [1, 2]\n\ndata: {"choices": 7}\n\ndata: "[DONE]"\n\n')
    await writer.drain()


async def deep_json(writer: asyncio.StreamWriter) -> None:
    """JSON nested far deeper than any parser's stack."""
    writer.write(_STREAM + b"data: " + b"[" * 200_000 + b"\n\n")
    await writer.drain()


async def header_bomb(writer: asyncio.StreamWriter) -> None:
    """Headers without end."""
    writer.write(_OK)
    number = 0
    while True:
        number += 1
        writer.write(b"X-Filler-%d: " % number + b"y" * 4096 + b"\r\n")
        await writer.drain()


async def length_lie(writer: asyncio.StreamWriter) -> None:
    """A body that is shorter than announced."""
    writer.write(_OK + b"Content-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n" + _CHUNK)
    await writer.drain()


async def silence(writer: asyncio.StreamWriter) -> None:
    """A connection that never answers."""
    del writer
    await asyncio.Event().wait()


ATTACKS: dict[str, Attack] = {
    attack.__name__.replace("_", "-"): attack
    for attack in (
        endless_stream,
        gigabyte_line,
        no_newline,
        slow_trickle,
        endless_event,
        wrong_utf8,
        not_json,
        deep_json,
        header_bomb,
        length_lie,
        silence,
    )
}


async def _read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    await reader.readexactly(int(lengths[0]) if lengths else 0)


@asynccontextmanager
async def attack_server(name: str) -> AsyncIterator[str]:
    """Serve one attack on loopback while the context lasts; yields its base URL."""
    open_connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_connections.add(task)
        # The client is expected to hang up in the middle.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _read_request(reader)
            await ATTACKS[name](writer)
        open_connections.discard(task)
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(open_connections):
            task.cancel()
