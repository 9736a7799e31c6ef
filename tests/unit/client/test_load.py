import asyncio

from stager.client.completion import CompletionRequest
from stager.client.limits import Limits
from stager.client.load import run_load
from tests.unit.client.wire import DONE, END, saying, serving, token

REQUEST = CompletionRequest("/v1/completions", {"stream": True})
STREAM = saying(token(), token(), END, DONE, pause=0.01)


def load(requests, script=STREAM):
    async def go():
        async with serving(script) as wire:
            return await run_load(wire.url, requests, "/health", Limits(total=10)), wire

    return asyncio.run(go())


def test_each_stream_has_a_warmed_connection_of_its_own() -> None:
    """Eight streams are eight sockets, opened before the start and used again: no pool can cap or queue them."""
    result, wire = load([REQUEST] * 8)
    assert wire.connections == 8
    assert (result.warmed, result.reused) == (8, 8)
    assert all(completion.whole for completion in result.completions)


def test_the_start_is_one_moment_and_its_spread_is_reported() -> None:
    """All requests go out after the release, and the spread is that of their sending times."""
    result, _ = load([REQUEST] * 8)
    sent = [completion.sent_ns for completion in result.completions]
    assert min(sent) >= result.released_ns
    assert result.spread == (max(sent) - min(sent)) / 1e9


def test_a_delayed_request_starts_later_and_does_not_widen_the_spread() -> None:
    """A late joiner is sent after its delay."""
    late = CompletionRequest("/v1/completions", {"stream": True}, delay_s=0.2)
    result, _ = load([REQUEST, late])
    assert result.completions[1].sent_ns - result.released_ns >= 0.2e9
    assert result.spread == 0


def test_a_server_that_cannot_be_warmed_shows() -> None:
    """Without anybody there, nothing was warmed and every record says so."""
    result = asyncio.run(run_load("http://127.0.0.1:9", [REQUEST] * 2, "/health", Limits(total=3)))
    assert result.warmed == 0
    assert all(completion.error for completion in result.completions)
