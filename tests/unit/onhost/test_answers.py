"""Asking a server: one time for the whole answer, and every broken answer is the same kind of failure."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from stager.onhost import answers

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(piece, ..., pause=0)`: a server that sends one connection these pieces so far apart; its URL."""
    closing: list[socket.socket] = []

    def start(*pieces: bytes, pause: float = 0) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        closing.append(listener)

        def answer() -> None:
            connection, _ = listener.accept()
            closing.append(connection)
            try:
                connection.recv(65536)
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the client has had enough

        threading.Thread(target=answer, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/x"

    yield start
    for each in closing:
        each.close()


def test_an_answer_is_read_whole(serve: Serve) -> None:
    """Pieces that come in time make one answer."""
    assert answers.fetch(serve(HEAD % 6, b"abc", b"def", pause=0.05)) == b"abcdef"


@pytest.mark.parametrize(
    "pieces",
    [(HEAD % 500, *[b"x"] * 60), (b"HTTP/1.1 200 OK\r\n", *[b"A: b\r\n"] * 60), [b"H"] * 60],
    ids=["body", "headers", "status line"],
)
def test_a_server_that_dribbles_is_given_up(serve: Serve, pieces: tuple[bytes, ...]) -> None:
    """A byte now and then keeps each read alive, not the answer: it has one time, wherever it dribbles."""
    url = serve(*pieces, pause=0.1)
    began = time.monotonic()
    with pytest.raises(OSError, match="timed out"):
        answers.fetch(url, timeout=0.5)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "pieces",
    [(b"SSH-2.0-x\r\n",), (HEAD % 500, b"half"), (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",), ()],
    ids=["no status line", "cut off", "bad chunk", "nothing"],
)
def test_a_broken_answer_is_an_oserror(serve: Serve, pieces: tuple[bytes, ...]) -> None:
    """Whatever is wrong with an answer, whoever asked hears of it in one way."""
    with pytest.raises(OSError):
        answers.fetch(serve(*pieces), timeout=2)


def test_a_refusals_text_is_told_even_if_it_stays_away(serve: Serve) -> None:
    """A status of 400 and over is told with its text, and without it when that does not come in time."""
    with pytest.raises(OSError, match="status 503: loading"):
        answers.fetch(serve(b"HTTP/1.1 503 Busy\r\nContent-Length: 7\r\n\r\nloading"))
    with pytest.raises(OSError, match="status 503: its text did not come"):
        answers.fetch(serve(b"HTTP/1.1 503 Busy\r\nContent-Length: 700\r\n\r\n", b"", pause=2), timeout=0.3)


def test_a_token_is_asked_for_and_counted(serve: Serve) -> None:
    """One real token is health; a polite answer without one is not."""
    check = {"body": {}, "timeout": 2.0}
    for content, why in (("hi", ""), ("", "answered without a token")):
        body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        assert answers.one_token(dict(check, url=serve(HEAD % len(body), body))) == why
