"""A calibration source: a tiny HTTP server that emits event streams at known times.

``lock-step``    every stream gets its k-th token at the same moment
``time-sliced``  the streams take turns, evenly: no two tokens share a moment

What a client reads of it is the client's and the path's own doing. It speaks just enough HTTP/1.1 for
``GET /health`` and the two OpenAI completion routes, listens on 127.0.0.1 only, and ends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from typing import Callable, Dict, List, Optional, Tuple

LOCK_STEP = "lock-step"
TIME_SLICED = "time-sliced"

#: Seconds a round waits for all its streams before it begins without the missing ones.
PATIENCE = 3.0
MAX_BODY = 1 << 20
MAX_TICKS = 10_000


class Round:
    """Streams that begin together; full when ``streams`` of them have joined."""

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self.joined: List[Tuple[asyncio.StreamWriter, int, "asyncio.Event"]] = []
        self.full = asyncio.Event()

    def join(self, writer: asyncio.StreamWriter, ticks: int) -> "asyncio.Event":
        """Add a stream of so many ticks; return the event that is set when all of it is written."""
        done = asyncio.Event()
        self.joined.append((writer, ticks, done))
        if len(self.joined) >= self.streams:
            self.full.set()
        return done


class Metronome:
    """Collects streams into rounds and emits each round at its beat."""

    def __init__(self, step_ms: float, streams: int, mode: str) -> None:
        if mode not in (LOCK_STEP, TIME_SLICED):
            raise ValueError("unknown mode %r" % mode)
        self.step = step_ms / 1000.0
        self.streams = streams
        self.mode = mode
        self.waiting: Optional[Round] = None
        self.rounds: List["asyncio.Task[None]"] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection until it ends."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, path, size = parse_head(head)
                body = await reader.readexactly(size)
                if method == "POST":
                    await self._stream(writer, body)
                else:
                    known = path == "/health"
                    answer(writer, 200 if known else 404, {"ok": known, "mode": self.mode, "streams": self.streams})
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass  # the client has left, or does not speak our little HTTP: either way this connection is over
        finally:
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        asked = json.loads(body or b"{}").get("max_tokens", 32)
        ticks = max(1, min(int(asked), MAX_TICKS))
        if self.waiting is None:
            self.waiting = Round(self.streams)
            self.rounds.append(asyncio.ensure_future(self._play(self.waiting)))
        mine = self.waiting
        done = mine.join(writer, ticks)
        await done.wait()

    async def _play(self, mine: Round) -> None:
        """Wait for the round to fill, then emit it."""
        with contextlib.suppress(asyncio.TimeoutError):  # then it begins with those who came
            await asyncio.wait_for(mine.full.wait(), PATIENCE)
        self.waiting = None
        for writer, _, _ in mine.joined:
            begin_stream(writer)
        # An engine's steps take their time also after a late one. So each moment counts from the one before, as it
        # really was: a source that made up for lost time would bunch its tokens, and the path would get the blame.
        shift = self.step / max(1, len(mine.joined))
        last = time.perf_counter()
        for tick in range(max(ticks for _, ticks, _ in mine.joined)):
            active = [one for one in mine.joined if not one[2].is_set()]
            for place, (writer, ticks, done) in enumerate(active):
                if self.mode == TIME_SLICED or place == 0:
                    await until(last + (shift if self.mode == TIME_SLICED else self.step))
                    last = time.perf_counter()
                if writer.is_closing():
                    done.set()
                    continue
                write_chunk(writer, token(tick))
                if tick + 1 == ticks:
                    end_stream(writer, ticks)
                    done.set()


async def until(moment: float) -> None:
    """Wait for a moment of ``perf_counter``, to a fraction of a millisecond.

    The event loop rounds to milliseconds; the last two are slept through here, where nothing else waits.
    """
    left = moment - time.perf_counter()
    if left > 0.003:
        await asyncio.sleep(left - 0.002)
        left = moment - time.perf_counter()
    if left > 0:
        time.sleep(left)  # noqa: ASYNC251  on purpose, see above


def parse_head(head: bytes) -> Tuple[str, str, int]:
    """Return method, path and body size of a request head.

    Raises:
        ValueError: it is not a request, or its body is too large.
    """
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    size = 0
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length":
            size = int(value)
    if not 0 <= size <= MAX_BODY:
        raise ValueError("a body of %d bytes" % size)
    return method, path, size


def answer(writer: asyncio.StreamWriter, status: int, value: Dict[str, object]) -> None:
    """Write a whole JSON answer."""
    body = json.dumps(value).encode()
    writer.write(b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
    writer.write(body)


def begin_stream(writer: asyncio.StreamWriter) -> None:
    """Write the head of an event stream."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")


def write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write one chunk, at once: the transport sends what it can before this returns."""
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def end_stream(writer: asyncio.StreamWriter, ticks: int) -> None:
    """Write finish reason, usage, [DONE] and the last chunk."""
    end = {
        "choices": [{"index": 0, "text": "", "finish_reason": "length"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": ticks, "total_tokens": ticks + 1},
    }
    write_chunk(writer, b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(end).encode())
    writer.write(b"0\r\n\r\n")


def token(tick: int) -> bytes:
    """The event of one token."""
    value = {"choices": [{"index": 0, "text": " %d" % tick, "finish_reason": None}]}
    return b"data: %s\n\n" % json.dumps(value).encode()


async def _serve(port: int, source: Metronome, seconds: float, ready: Callable[[int], None]) -> None:
    server = await asyncio.start_server(source.serve, "127.0.0.1", port, limit=MAX_BODY)
    ready(server.sockets[0].getsockname()[1])
    await asyncio.sleep(seconds)
    server.close()


def run(
    port: int,
    step_ms: float,
    streams: int,
    mode: str,
    seconds: float = 60.0,
    ready: Optional[Callable[[int], None]] = None,
) -> None:
    """Serve on 127.0.0.1 for so many seconds, then end.

    ``port`` 0 takes a free one; ``ready`` is called with the port in use, by default it is printed as a line.
    """
    asyncio.run(_serve(port, Metronome(step_ms, streams, mode), seconds, ready or announce))


def announce(port: int) -> None:
    """Print the port as one line of JSON."""
    sys.stdout.write(json.dumps({"port": port}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
