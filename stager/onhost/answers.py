"""Asking a server over loopback HTTP: a real one-token answer, or a number behind a JSON pointer."""

from __future__ import annotations

import http.client
import io
import json
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import clocks

MAX_BODY = 1 << 20


class Timed(io.RawIOBase):
    """What comes over a connection, until one time for all of it is over: a socket's own limit is for each read."""

    def __init__(self, sock: Any, inner: Any) -> None:
        self.sock, self.inner = sock, inner
        self.end = time.monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        """It is read, and nothing else."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, waiting no longer than the time that is left.

        Raises:
            TimeoutError: it is over (before Python 3.10: socket.timeout; both are OSError).
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out in the middle of an answer")
        self.sock.settimeout(left)
        return int(self.inner.readinto1(buffer))  # one read: more would wait for a full buffer

    def close(self) -> None:
        """Let the connection go."""
        self.inner.close()
        super().close()


class Answer(http.client.HTTPResponse):
    """An answer that is read, from its first line on, within one time."""

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(Timed(sock, self.fp))


class Plain(http.client.HTTPConnection):
    """A connection with such answers."""

    response_class = Answer


class PlainAnswers(urllib.request.HTTPHandler):
    """How http is opened."""

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open with one time for the whole answer."""
        return self.do_open(Plain, req)


KINDS: List[Any] = [PlainAnswers]
if hasattr(http.client, "HTTPSConnection"):  # a Python that was built without TLS has none

    class Encrypted(http.client.HTTPSConnection):
        """The same over TLS."""

        response_class = Answer

    class EncryptedAnswers(urllib.request.HTTPSHandler):
        """How https is opened."""

        def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            """Open with one time for the whole answer."""
            return self.do_open(Encrypted, req)

    KINDS.append(EncryptedAnswers)

#: No proxies: a proxy variable must never stand in between.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), *KINDS)


def fetch(
    url: str, body: Optional[Dict[str, Any]] = None, headers: Optional[Dict[str, str]] = None, timeout: float = 10.0
) -> bytes:
    """GET, or POST JSON; at most 1 MiB of the answer, all of it within ``timeout`` seconds of its request.

    Raises:
        OSError: no whole HTTP answer in time, or a status of 400 and over (the message holds the start of its text).
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, dict(headers or {}, **({"Content-Type": "application/json"} if data else {}))
    )
    try:
        with OPENER.open(request, timeout=timeout) as answer:
            data = bytes(answer.read(MAX_BODY))
            if answer.length and len(data) < MAX_BODY:
                raise OSError("the answer was cut off after %d bytes" % len(data))
            return data
    except urllib.error.HTTPError as error:
        raise OSError("status %d: %s" % (error.code, start_of(error))) from None
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from None
    except (ValueError, http.client.HTTPException) as error:
        raise OSError("not an HTTP answer: %s %s" % (type(error).__name__, error)) from None


def start_of(error: urllib.error.HTTPError) -> str:
    """The start of the text that came with a refusal, as far as it came."""
    with error:
        try:
            return error.read(300).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            return "its text did not come"


def pointed(document: Any, pointer: str) -> Any:
    """The value behind a JSON pointer (RFC 6901).

    Raises:
        LookupError: there is no such place.
    """
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def gauge(address: str, timeout: float = 5.0) -> float:
    """The number or boolean behind ``URL#/json/pointer``, or the sum of a metric behind ``URL#metric_name``.

    Raises:
        OSError: it could not be read, or is no number.
    """
    url, _, place = address.partition("#")
    try:
        data = fetch(url, timeout=timeout)
        return (
            float(pointed(json.loads(data), place))
            if place.startswith("/") or not place
            else metric(data.decode(), place)
        )
    except (LookupError, ValueError, TypeError) as error:
        raise OSError("%s gives no number: %s" % (address, error)) from None


def metric(text: str, name: str) -> float:
    """The sum over all label sets of one metric in Prometheus' text format.

    Raises:
        LookupError: it is not there.
    """
    found = [line for line in text.splitlines() if line.partition("{")[0].partition(" ")[0] == name]
    if not found:
        raise LookupError("no metric %s" % name)
    return sum(float(line.rpartition("}")[2].split()[0] if "}" in line else line.split()[1]) for line in found)


def has_token(data: bytes) -> bool:
    """Whether an OpenAI-style answer carries at least one generated token.

    Text, a tool call, or one counted in usage.
    """
    try:
        document = json.loads(data)
        choice = document["choices"][0]
    except (ValueError, LookupError, TypeError):
        return False
    message = choice.get("message") or {}
    said = choice.get("text") or message.get("content") or message.get("reasoning_content") or message.get("tool_calls")
    usage = document.get("usage") or {}
    return bool(said) or bool(usage.get("completion_tokens"))


def one_token(check: Dict[str, Any]) -> str:
    """Ask for one real token; empty when it came, otherwise why not.

    ``check`` holds url, body, headers, key_file, timeout.
    """
    headers = dict(check.get("headers") or {})
    try:
        if check.get("key_file"):
            with open(check["key_file"]) as file:
                headers["Authorization"] = "Bearer " + file.read().strip()
        data = fetch(check["url"], check["body"], headers, check.get("timeout", 20.0))
    except OSError as error:
        return str(error) or type(error).__name__
    return "" if has_token(data) else "answered without a token"


def wait_healthy(
    check: Dict[str, Any], within: float, give_up: Callable[[], bool] = lambda: False
) -> Tuple[bool, Dict[str, Any]]:
    """Ask until ``n`` of the last ``of`` answers carried a token, or the time is over.

    Returns:
        Whether it became healthy, and what was seen: asked, good, seconds, last reason.
    """
    start = clocks.boottime_ns()
    recent: List[bool] = []
    asked, good, last = 0, 0, ""
    while True:
        why = one_token(check)
        asked += 1
        good += not why
        last = why or last
        recent = [*recent, not why][-int(check["of"]) :]
        seconds = (clocks.boottime_ns() - start) / clocks.SECOND
        seen = {"asked": asked, "good": good, "seconds": round(seconds, 3), "last_reason": last if why else ""}
        if sum(recent) >= int(check["n"]):
            return True, seen
        if seconds > within or give_up():
            return False, seen
        clocks.pause(0.05 if not why else 0.2)
