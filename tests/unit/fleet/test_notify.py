"""Telling somebody: a command gets the document on its input, an address gets it posted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from stager.fleet.notify import by_command, by_webhook

DOCUMENT = {"exit_code": 6}


def test_a_command_gets_the_document(tmp_path: Path) -> None:
    """The JSON is on the command's standard input."""
    said = by_command(["/bin/sh", "-c", f"cat > {tmp_path}/got"], DOCUMENT)

    assert said == ""
    assert json.loads((tmp_path / "got").read_text()) == DOCUMENT


@pytest.mark.parametrize(
    ("words", "why"),
    [(["/bin/sh", "-c", "echo busy >&2; exit 3"], "ended with 3: busy"), (["/no/such/program"], "No such file")],
)
def test_a_command_that_fails_says_why(words: list[str], why: str) -> None:
    """A command that fails or is not there is reported, not raised."""
    assert why in by_command(words, DOCUMENT)


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    """A server on loopback that keeps what is posted; /no answers 500."""
    got: list[tuple[str, str, bytes]] = []

    class Keep(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, self.headers["Content-Type"], body))
            self.send_response(500 if self.path == "/no" else 204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    made = HTTPServer(("127.0.0.1", 0), Keep)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}", got
    made.shutdown()
    thread.join()
    made.server_close()


def test_an_address_gets_it_posted(server: tuple[str, list[tuple[str, str, bytes]]]) -> None:
    """The JSON is posted as such."""
    url, got = server

    assert by_webhook(f"{url}/hook", DOCUMENT) == ""
    assert got == [("/hook", "application/json", b'{"exit_code": 6}')]


def test_an_address_that_refuses(server: tuple[str, list[tuple[str, str, bytes]]]) -> None:
    """An answer that is no success is reported without the address, which may hold a secret."""
    url, _ = server

    assert by_webhook(f"{url}/no", DOCUMENT) == "the webhook answered 500"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "nonsense", "http://127.0.0.1:9/secret"])
def test_an_address_that_is_none(url: str) -> None:
    """Other schemes are refused, and a dead address is reported without its path."""
    said = by_webhook(url, DOCUMENT)

    assert said
    assert "secret" not in said
