"""A tiny inference server of the kind that is in production: OpenAI-style answers and a health endpoint.

It is copied to the host and needs nothing but Python 3.9. Every answer is made token by token, with one generation
at a time for each slot, so that its gauge of active work is a measured one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STARTED = time.monotonic()


class Work:
    """Counts what is in flight (`busy`) and what generates right now (`active`)."""

    def __init__(self, slots: int) -> None:
        self.slots = threading.BoundedSemaphore(slots)
        self.lock = threading.Lock()
        self.waiting = self.active = self.served = 0

    def add(self, **changes: int) -> None:
        with self.lock:
            for name, change in changes.items():
                setattr(self, name, getattr(self, name) + change)


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or tokens wait for the acknowledgement of the one before, and come in pairs
    options: argparse.Namespace
    work: Work
    read = 0  # words of the prompt: they count as tokens

    def log_message(self, *_: object) -> None:
        pass

    def well(self) -> bool:
        options = self.options
        return not (options.never_healthy or (options.sick_if and os.path.exists(options.sick_if)))

    def do_GET(self) -> None:
        if self.path == "/health":
            body = {
                "ok": self.well(), "busy": self.work.waiting + self.work.active > 0, "active": self.work.active,
                "served": self.work.served, "batch_limit": self.options.slots, "pid": os.getpid(),
                "up": round(time.monotonic() - STARTED, 3),
            }  # fmt: skip
            self.reply(200 if self.well() else 503, body)
        elif self.path == "/v1/models":
            self.reply(200, {"object": "list", "data": [{"id": self.options.model, "object": "model"}]})
        else:
            self.reply(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path not in ("/v1/chat/completions", "/v1/completions"):
            return self.reply(404, {"error": {"message": "no such path"}})
        if not self.well():
            return self.reply(503, {"error": {"message": "the engine is not well"}})
        count = int(body.get("max_tokens") or 16)
        self.read = len(json.dumps(body.get("messages") or body.get("prompt")).split())
        self.work.add(waiting=1)
        with self.work.slots:
            self.work.add(waiting=-1, active=1)
            try:
                self.stream(count) if body.get("stream") else self.whole(count)
            finally:
                self.work.add(active=-1, served=1)

    def whole(self, count: int) -> None:
        time.sleep(count * self.options.step)
        said = "tock " * count
        choice = {
            "index": 0,
            "finish_reason": "length",
            "text": said,
            "message": {"role": "assistant", "content": said},
        }
        self.reply(
            200,
            {"object": "chat.completion", "model": self.options.model, "choices": [choice], "usage": self.usage(count)},
        )

    def stream(self, count: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for _ in range(count):
                time.sleep(self.options.step)
                self.event({"index": 0, **self.piece("tock "), "finish_reason": None})
            self.event({"index": 0, **self.piece(""), "finish_reason": "length"}, usage=self.usage(count))
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:  # the client went: so does its work
            return

    def piece(self, text: str) -> dict[str, object]:
        return {"delta": {"content": text} if text else {}} if "chat" in self.path else {"text": text}

    def usage(self, count: int) -> dict[str, int]:
        return {"prompt_tokens": self.read, "completion_tokens": count, "total_tokens": count + self.read}

    def event(self, choice: dict[str, object], **more: object) -> None:
        data = dict(object="chat.completion.chunk", model=self.options.model, choices=[choice], **more)
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()

    def reply(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--step", type=float, default=0.005, help="seconds per token")
    parser.add_argument("--slow-start", type=float, default=0.0, help="seconds before the port opens")
    parser.add_argument("--deaf", action="store_true", help="do not end on SIGTERM")
    parser.add_argument("--never-healthy", action="store_true")
    parser.add_argument("--sick-if", help="not healthy while this path exists")
    options = parser.parse_args()
    if options.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(options.slow_start)
    Answer.options, Answer.work = options, Work(options.slots)
    ThreadingHTTPServer.request_queue_size = 64
    ThreadingHTTPServer((options.host, options.port), Answer).serve_forever()


if __name__ == "__main__":
    main()
