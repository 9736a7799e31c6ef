"""The lab engine behind HTTP, with the endpoints of llama.cpp's server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from stager.lab.ask import Ask, parse_ask
from stager.lab.chunks import Chunk, content, ending, opening, whole_answer
from stager.lab.engine import Engine
from stager.lab.gauges import metrics_text
from stager.lab.knobs import Knobs, Shape
from stager.lab.sequence import Sequence
from stager.lab.tokens import pieces, render_chat, token_id


class Server:
    """One lab engine's endpoints."""

    def __init__(self, shape: Shape, knobs: Knobs) -> None:
        self.shape, self.knobs = shape, knobs
        self.engine = Engine(shape, knobs)

    def app(self) -> web.Application:
        """Return the application with every route."""
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes(
            [
                web.get("/health", self.health),
                web.get("/v1/models", self.models),
                web.get("/props", self.props),
                web.get("/slots", self.slots),
                web.get("/metrics", self.metrics),
                web.get("/lab/memory", self.memory),
                web.post("/tokenize", self.tokenize),
                web.post("/apply-template", self.apply_template),
                web.post("/v1/completions", self.completions),
                web.post("/v1/chat/completions", self.chat_completions),
            ]
        )
        return app

    # What it says about itself.

    async def health(self, _: web.Request) -> web.Response:
        """``{"status": "ok"}``, as long as the process lives."""
        if self.knobs.health_behind_step:
            await self._until_read()
        if self.knobs.health_503_while_busy and self.engine.reading:
            return web.json_response({"error": {"message": "busy", "code": 503}}, status=503)
        return web.json_response({"status": "ok"})

    async def _until_read(self) -> None:
        async with self.engine.stepped:
            await self.engine.stepped.wait_for(lambda: not self.engine.reading)

    async def models(self, _: web.Request) -> web.Response:
        """The one model there is."""
        return web.json_response({"object": "list", "data": [{"id": "lab", "object": "model"}]})

    async def props(self, _: web.Request) -> web.Response:
        """What the engine is configured to be."""
        settings = {"n_ctx": self.shape.context}
        return web.json_response({"total_slots": self.shape.slots, "default_generation_settings": settings})

    async def slots(self, _: web.Request) -> web.Response:
        """One entry a slot, with ``is_processing``."""
        if self.knobs.slots_hang_in_prefill:
            await self._until_read()
        busy = self.engine.gauges().processing
        rows = [
            {"id": i, "n_ctx": self.shape.context, "is_processing": i < busy}
            for i in range(max(self.shape.slots, busy))
        ]
        return web.json_response(rows)

    async def metrics(self, _: web.Request) -> web.Response:
        """Prometheus text."""
        if self.knobs.metrics_fail_in_prefill and self.engine.reading:
            return web.Response(status=500, text="no metrics now")
        return web.Response(text=metrics_text(self.engine.gauges(), self.engine.counters))

    async def memory(self, _: web.Request) -> web.Response:
        """Device memory in bytes; stands for what a GPU driver would say."""
        return web.json_response({"bytes": self.engine.memory_bytes()})

    async def tokenize(self, request: web.Request) -> web.Response:
        """The tokens of a text, as numbers."""
        body = await request.json()
        return web.json_response({"tokens": [token_id(p) for p in pieces(str(body.get("content", "")))]})

    async def apply_template(self, request: web.Request) -> web.Response:
        """The one text a chat becomes."""
        body = await request.json()
        return web.json_response({"prompt": render_chat(body["messages"])})

    # Completions.

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """Raw completion."""
        return await self._complete(request, chat=False)

    async def chat_completions(self, request: web.Request) -> web.StreamResponse:
        """Chat completion, with tools."""
        return await self._complete(request, chat=True)

    async def _complete(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        try:
            ask = parse_ask(await request.json(), chat=chat, context=self.shape.context)
        except (ValueError, KeyError, TypeError) as error:
            return _refusal(400, "invalid_request_error", f"bad request: {error}")
        if self.knobs.answers_errors:
            return _refusal(500, "server_error", "the engine is gone")
        sequence = self.engine.submit(ask)
        if len(sequence.shown) >= self.shape.context:
            self.engine.waiting.remove(sequence)
            return _refusal(400, "exceed_context_size_error", "the request exceeds the available context size")
        try:
            return await (self._stream(request, sequence) if ask.stream else self._answer(sequence, ask))
        except asyncio.CancelledError:
            self.engine.disconnected(sequence)
            raise
        except ConnectionError:
            # The same event, seen by a write instead of by the server; it must not be logged as a fault of ours.
            self.engine.disconnected(sequence)
            raise asyncio.CancelledError from None

    async def _answer(self, sequence: Sequence, ask: Ask) -> web.Response:
        text = "".join([token async for token in _tokens(sequence)])
        if sequence.error is not None:
            return _refusal(500, "server_error", sequence.error)
        return web.json_response(whole_answer(sequence, text, self.knobs))

    async def _stream(self, request: web.Request, sequence: Sequence) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        held: list[Chunk] = []
        await self._send(response, opening(sequence))
        async for token in _tokens(sequence):
            chunks = content(sequence, token, self.knobs)
            if self.knobs.hold_output_back:
                held.extend(chunks)
            else:
                await self._send(response, chunks)
        await self._send(response, [*held, *ending(sequence, self.knobs)])
        if sequence.error is None and not self.knobs.done_missing:
            await response.write(self._event("[DONE]"))
        await response.write_eof()
        return response

    async def _send(self, response: web.StreamResponse, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            await response.write(self._event(json.dumps(chunk)))

    def _event(self, data: str) -> bytes:
        if self.shape.crlf:
            return f": ping\r\ndata:{data}\r\n\r\n".encode()
        return f"data: {data}\n\n".encode()


async def _tokens(sequence: Sequence) -> AsyncIterator[str]:
    while (token := await sequence.out.get()) is not None:
        yield token


def _refusal(status: int, kind: str, message: str) -> web.Response:
    body: dict[str, Any] = {"error": {"code": status, "type": kind, "message": message}}
    return web.json_response(body, status=status)


@asynccontextmanager
async def serve(shape: Shape | None = None, knobs: Knobs | None = None, port: int = 0) -> AsyncIterator[str]:
    """Serve a lab engine on loopback while the context lasts; yields its base URL."""
    server = Server(shape or Shape(), knobs or Knobs())
    # Without handler_cancellation a request that waits or is being read would outlive its client unseen.
    runner = web.AppRunner(server.app(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=256)
    loop = asyncio.create_task(server.engine.run())
    try:
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        loop.cancel()
        await runner.cleanup()
