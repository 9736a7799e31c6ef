"""One HTTP connection that is kept: opened and warmed by an answered request, then used for the real one.

Every stream of an experiment owns one of these, so that no pool can cap or queue the load (GuideLLM 487,
llama.cpp 5247), and so that no connection set-up falls into a measured time.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import aiohttp

from stager.client.limits import LimitExceeded, Limits
from stager.client.ticks import ticks

_READ_BUFFER = 1 << 18


@dataclass(slots=True)
class Marks:
    """When the parts of one request happened (``perf_counter_ns``), filled in while it happens."""

    sent_ns: int | None = None
    headers_ns: int | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A small whole answer: status, body, and how long it took in seconds."""

    status: int
    body: bytes
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


@dataclass(slots=True)
class Connection:
    """A session bound to one server and at most one socket at a time."""

    base_url: str
    limits: Limits
    session: aiohttp.ClientSession
    _sockets: list[socket.socket] = field(default_factory=list)

    async def get(self, path: str, *, within: float | None = None, most: int = 4 << 20) -> Answer:
        """Fetch a small document whole.

        Args:
            path: absolute path of the URL.
            within: seconds for all of it; the limits' ``total`` if None.
            most: the body's largest size in bytes.

        Raises:
            aiohttp.ClientError, TimeoutError: no answer.
            LimitExceeded: the body is longer than ``most``.
        """
        begun = ticks()
        timeout = self.timeout(within)
        async with self.session.get(self.url(path), timeout=timeout, allow_redirects=False) as response:
            body = await _bounded_body(response, most)
            return Answer(response.status, body, (ticks() - begun) / 1e9)

    async def post_json(
        self,
        path: str,
        value: Any,  # noqa: ANN401
        *,
        within: float | None = None,
        most: int = 64 << 20,
    ) -> Answer:
        """Post a JSON document and fetch a small answer whole; raises as ``get`` does."""
        begun = ticks()
        timeout = self.timeout(within)
        async with self.session.post(self.url(path), json=value, timeout=timeout, allow_redirects=False) as response:
            body = await _bounded_body(response, most)
            return Answer(response.status, body, (ticks() - begun) / 1e9)

    def url(self, path: str) -> str:
        """The full URL of a path of this server."""
        return self.base_url.rstrip("/") + path

    def timeout(self, total: float | None) -> aiohttp.ClientTimeout:
        """The time bounds of one request."""
        return aiohttp.ClientTimeout(
            total=self.limits.total if total is None else total,
            sock_connect=self.limits.connect,
            sock_read=self.limits.idle,
        )

    def reset_on_close(self) -> None:
        """Make the coming close of the socket a reset (RST) instead of an orderly end (FIN)."""
        for sock in self._sockets:
            _quietly(partial(sock.setsockopt, socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)))

    def half_close(self) -> None:
        """Shut our sending side (FIN) and go on reading."""
        for sock in self._sockets:
            _quietly(partial(sock.shutdown, socket.SHUT_WR))

    def _new_socket(self, info: Any) -> socket.socket:  # noqa: ANN401
        family, kind, protocol, _, _ = info
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        self._sockets[:] = [sock]
        return sock


@asynccontextmanager
async def connect(base_url: str, limits: Limits | None = None, *, most: int = 1) -> AsyncIterator[Connection]:
    """Give a connection to a server; nothing is opened before the first request.

    Args:
        base_url: where the server is.
        limits: what an answer may cost.
        most: sockets that may be open at once; more than one only for a sampler, whose questions must not queue.
    """
    limits = limits or Limits()
    holder: list[Connection] = []
    connector = aiohttp.TCPConnector(
        limit=most,
        keepalive_timeout=limits.total,
        socket_factory=lambda info: holder[0]._new_socket(info),
        happy_eyeballs_delay=None,  # one socket, not a race of two
    )
    session = aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,  # a compressed answer would hide its times, and its size
        headers={"Accept-Encoding": "identity"},
        read_bufsize=_READ_BUFFER,
        max_line_size=limits.header_line,
        max_field_size=limits.header_line,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        trace_configs=[_tracing()],
    )
    holder.append(Connection(base_url, limits, session))
    async with session:
        yield holder[0]


async def warm(connection: Connection, path: str, within: float = 10.0) -> bool:
    """Open the connection with an answered request; return whether any answer came, whatever its status."""
    try:
        await connection.get(path, within=within)
    except (aiohttp.ClientError, TimeoutError, LimitExceeded, OSError):
        return False
    return True


async def _bounded_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    parts = bytearray()
    while piece := await response.content.readany():
        parts += piece
        if len(parts) > most:
            response.close()
            raise LimitExceeded(f"an answer is longer than {most} bytes")
    return bytes(parts)


def _tracing() -> aiohttp.TraceConfig:
    """Note in a request's ``Marks`` when its bytes went out and whether the connection was already open."""

    async def sent(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        if isinstance(context.trace_request_ctx, Marks):
            context.trace_request_ctx.sent_ns = ticks()

    async def reused(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        if isinstance(context.trace_request_ctx, Marks):
            context.trace_request_ctx.reused = True

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(sent)
    tracing.on_request_chunk_sent.append(sent)
    tracing.on_connection_reuseconn.append(reused)
    return tracing


def _quietly(act: Callable[[], None]) -> None:
    with suppress(OSError):  # the socket is gone already: there is nothing left to reset or shut
        act()
