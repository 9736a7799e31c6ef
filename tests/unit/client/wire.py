"""A server that says exactly the bytes it is told, and notes how its clients left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Wire:
    """What the server saw: its URL, connections taken, requests, and how connections ended (``fin`` or ``rst``)."""

    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(text: str) -> bytes:
    """One server-sent event."""
    return f"data: {text}\n\n".encode()


def token(text: str = "a") -> bytes:
    """The event of one token on the text route."""
    return event('{"choices":[{"index":0,"text":"' + text + '","finish_reason":null}]}')


END = event(
    '{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}'
)
DONE = event("[DONE]")


def saying(*pieces: bytes, head: bytes = EVENTS, pause: float = 0.0, close: bool = False) -> Script:
    """A script that writes its pieces, chunked unless another head is given, and ends the answer."""

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for piece in pieces:
            writer.write(chunk(piece) if head is EVENTS else piece)
            await writer.drain()
            await asyncio.sleep(pause)
        if head is EVENTS:
            writer.write(b"0\r\n\r\n")
        if close:
            writer.close()

    return script


def endless(piece: bytes, pause: float = 0.002, head: bytes = EVENTS) -> Script:
    """A script that never ends by itself."""

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(chunk(piece))
            await writer.drain()
            await asyncio.sleep(pause)

    return script


@asynccontextmanager
async def serving(scripts: Script | Sequence[Script]) -> AsyncIterator[Wire]:
    """Serve GET with ``{}`` and each POST with the next script (the last one for all further ones)."""
    wire = Wire()
    queue = list(scripts) if isinstance(scripts, Sequence) else [scripts]

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire.connections += 1
        ahead = b""
        try:
            while True:
                head = ahead + await reader.readuntil(b"\r\n\r\n")
                size = next((int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if b"content-length" in x), 0)
                wire.requests.append(head + await reader.readexactly(size))
                if head.startswith(b"GET"):
                    ahead = b""
                    writer.write(OK)
                    continue
                script = queue.pop(0) if len(queue) > 1 else queue[0]
                answering = asyncio.ensure_future(script(reader, writer))
                leaving = asyncio.ensure_future(reader.read(1))
                await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not leaving.done():
                    leaving.cancel()
                    await asyncio.wait({leaving})
                ahead = b"" if leaving.cancelled() or leaving.exception() else leaving.result()
                if ahead or leaving.cancelled():
                    continue  # the client stays: that was the next request's first byte, or nothing yet
                wire.left.append("rst" if leaving.exception() else "fin")
                await asyncio.wait({answering}, timeout=1.0)
                answering.cancel()
                break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
