"""Asking a server: a real token counts, a status of 200 alone does not."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator

import pytest

from stager.onhost import answers

SAID: list[tuple[int, bytes]] = []


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers with the next of SAID, the last one for ever."""

    def do_GET(self) -> None:
        status, body = SAID.pop(0) if len(SAID) > 1 else SAID[0]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """A server that says what SAID holds."""
    SAID.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/x"
    server.shutdown()
    server.server_close()


def check(url: str, n: int = 3, of: int = 3) -> dict[str, object]:
    """What production/healthy becomes."""
    return {"url": url, "body": {"max_tokens": 1}, "n": n, "of": of}


def token(**choice: object) -> bytes:
    """An answer with one choice."""
    return json.dumps({"choices": [choice]}).encode()


@pytest.mark.parametrize(
    "body",
    [
        token(message={"content": "a"}),
        token(text="a"),
        token(message={"content": None, "reasoning_content": "hm"}),
        token(message={"content": None, "tool_calls": [{"id": "1"}]}),
        json.dumps({"choices": [{"message": {"content": ""}}], "usage": {"completion_tokens": 1}}).encode(),
    ],
)
def test_a_token_in_any_shape(url: str, body: bytes) -> None:
    """Text, chat, reasoning, a tool call, or one counted in usage."""
    SAID.append((200, body))
    assert answers.one_token(check(url)) == ""


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"ok", b'{"choices": []}', token(message={"content": ""}), token(text="")]
)
def test_an_answer_without_a_token_is_none(url: str, body: bytes) -> None:
    """A 200 with nothing generated is not health."""
    SAID.append((200, body))
    assert answers.one_token(check(url)) == "answered without a token"


def test_an_error_is_told_with_its_text(url: str) -> None:
    """A status of 503 is no health, and what it says is kept."""
    SAID.append((503, b"loading model"))
    assert answers.one_token(check(url)) == "status 503: loading model"


def test_nobody_there() -> None:
    """A refused connection is a reason in words."""
    assert "refused" in answers.one_token(check("http://127.0.0.1:9/x"))


def test_n_of_m(url: str) -> None:
    """One failure among the last four is allowed where three of four are asked for, two are not."""
    good, bad = (200, token(text="a")), (503, b"")
    SAID.extend([bad, good, bad, good, good, good])
    ok, told = answers.wait_healthy(check(url, 3, 4), 20)
    assert ok
    assert told["asked"] == 5  # bad good bad good good: the last four hold three


def test_time_is_up(url: str) -> None:
    """A server that never gets well is told as such, with its last word."""
    SAID.append((503, b"no"))
    ok, told = answers.wait_healthy(check(url), 0.5)
    assert not ok
    assert told["last_reason"] == "status 503: no"


@pytest.mark.parametrize(
    ("body", "place", "value"),
    [
        (b'{"busy": true}', "#/busy", 1.0),
        (b'{"a": [{"b": 3}]}', "#/a/0/b", 3.0),
        (b'{"a/b": {"~": 2}}', "#/a~1b/~0", 2.0),
        (b'# TYPE q gauge\nq{model="a"} 2\nq{model="b c"} 3\nqq 7\n', "#q", 5.0),
        (b"q 4 1700000000\n", "#q", 4.0),
    ],
)
def test_gauges(url: str, body: bytes, place: str, value: float) -> None:
    """A JSON pointer, or a metric summed over its labels."""
    SAID.append((200, body))
    assert answers.gauge(url + place) == value


@pytest.mark.parametrize(("body", "place"), [(b"{}", "#/busy"), (b'{"busy": "no"}', "#/busy"), (b"x 1\n", "#q")])
def test_a_gauge_that_is_not_there_is_an_error(url: str, body: bytes, place: str) -> None:
    """What cannot be read is never taken for zero."""
    SAID.append((200, body))
    with pytest.raises(OSError):
        answers.gauge(url + place)
