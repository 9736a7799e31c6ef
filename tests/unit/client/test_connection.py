import asyncio

import pytest

from stager.client.connection import connect, warm
from stager.client.limits import LimitExceeded, Limits
from tests.unit.client.wire import OK, saying, serving


def test_a_small_answer_is_fetched_whole_and_timed() -> None:
    """Status, body and seconds of a small document."""

    async def go():
        async with serving(saying()) as wire, connect(wire.url) as connection:
            return await connection.get("/health")

    answer = asyncio.run(go())
    assert (answer.ok, answer.body) == (True, b"{}")
    assert 0 < answer.seconds < 5


def test_a_document_is_posted_as_json() -> None:
    """The body that goes out is the JSON of the value."""

    async def go():
        async with serving(saying(head=OK)) as wire, connect(wire.url) as connection:
            await connection.post_json("/tokenize", {"content": "x"})
            return wire.requests[0]

    assert asyncio.run(go()).endswith(b'{"content": "x"}')


def test_an_answer_longer_than_asked_for_is_refused() -> None:
    """A gauge endpoint that sends megabytes costs no memory beyond the bound."""

    async def go():
        async with serving(saying(*[b"x" * 10_000] * 20)) as wire, connect(wire.url) as connection:
            with pytest.raises(LimitExceeded):
                await connection.post_json("/x", {}, most=50_000)

    asyncio.run(go())


def test_no_answer_in_time_is_a_timeout() -> None:
    """A question has its own time limit."""

    async def mute(_reader, _writer) -> None:
        await asyncio.sleep(30)

    async def go():
        async with serving(mute) as wire, connect(wire.url) as connection:
            with pytest.raises(TimeoutError):
                await connection.post_json("/x", {}, within=0.2)

    asyncio.run(go())


def test_warming_tells_whether_anybody_answered() -> None:
    """A server that is not there cannot be warmed, and that is no exception."""

    async def go(url: str) -> bool:
        async with connect(url, Limits(connect=2)) as connection:
            return await warm(connection, "/health", within=2)

    assert asyncio.run(go("http://127.0.0.1:9")) is False


def test_one_connection_is_one_socket_unless_more_are_allowed() -> None:
    """Questions on one connection queue; a sampler's connection may open several sockets."""

    async def go(most: int) -> int:
        async def slow(_reader, writer) -> None:
            await asyncio.sleep(0.1)
            writer.write(OK)

        async with serving(slow) as wire, connect(wire.url, most=most) as connection:
            await asyncio.gather(*(connection.post_json("/x", {}) for _ in range(3)))
            return wire.connections

    assert asyncio.run(go(1)) == 1
    assert asyncio.run(go(3)) == 3


def test_proxies_and_cookies_of_the_environment_are_ignored(monkeypatch) -> None:
    """A proxy named in the environment never stands between probe and engine."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    async def go() -> bool:
        async with serving(saying()) as wire, connect(wire.url) as connection:
            return (await connection.get("/health")).ok

    assert asyncio.run(go())
