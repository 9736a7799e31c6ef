import asyncio
from time import monotonic

import pytest

from stager.client.completion import CompletionRequest, Cut, How, complete
from stager.client.connection import connect, warm
from stager.client.limits import Limits
from stager.client.record import Ended
from tests.unit.client.wire import DONE, END, EVENTS, chunk, endless, event, saying, serving, token

BODY = {"stream": True, "prompt": "x"}


def ask(script, limits: Limits | None = None, cut: Cut | None = None, body: dict | None = None, *, warmed: bool = True):
    """Send one request to a server with this script; return the record and what the server saw."""

    async def go():
        async with serving(script) as wire, connect(wire.url, limits or Limits(total=10)) as connection:
            if warmed:
                assert await warm(connection, "/health")
            record = await complete(connection, CompletionRequest("/v1/completions", body or BODY, cut))
            await asyncio.sleep(0.05)
            return record, wire

    return asyncio.run(go())


def test_a_whole_stream_is_recorded_whole() -> None:
    """Tokens, finish reason, usage, [DONE] and one time per read, in order."""
    record, _ = ask(saying(token(), token(), token(), END, DONE, pause=0.01))
    assert record.whole
    assert record.faults == ()
    assert (record.finish_reason, record.completion_tokens, record.content) == ("length", 3, "aaa")
    assert record.started_ns <= record.sent_ns <= record.headers_ns <= record.deltas[0].at_ns
    assert [d.at_ns for d in record.deltas] == sorted({d.at_ns for d in record.deltas})
    assert 0 < record.ttft < 1


def test_the_request_goes_out_on_the_warmed_connection() -> None:
    """One socket carries the warming request and the real one, and the record says so."""
    record, wire = ask(saying(token(), END, DONE))
    assert record.reused_connection
    assert wire.connections == 1


def test_an_unwarmed_connection_shows() -> None:
    """A request that had to open its own connection is recorded as such."""
    record, _ = ask(saying(token(), END, DONE), warmed=False)
    assert not record.reused_connection


def test_events_that_share_a_read_are_counted() -> None:
    """Three tokens flushed together have one time, and the read tells how many events it brought."""
    record, _ = ask(saying(token() + token() + token(), END + DONE, pause=0.02))
    assert [read.events for read in record.reads] == [3, 2]
    assert len({d.at_ns for d in record.deltas}) == 1


def test_a_token_split_over_reads_has_the_time_of_the_last() -> None:
    """An event belongs to the read that completes it."""
    one = token()
    record, _ = ask(saying(one[:10], one[10:], END + DONE, pause=0.02))
    assert record.deltas[0].at_ns == record.reads[1].at_ns


def test_ttft_ignores_roles_and_comments_and_ttfr_does_not_wait_for_output() -> None:
    """The first event is earlier than the first token when the role comes first."""
    role = event('{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}')
    record, _ = ask(saying(b": ping\n\n", role, token(), END, DONE, pause=0.03))
    assert record.ttfr < record.ttft - 0.02
    assert record.comments == 1


@pytest.mark.parametrize(
    ("pieces", "fault", "unreadable"),
    [
        ((token(), END), "without [DONE]", False),
        ((token(), END, DONE, DONE), "2 times", False),
        ((token(), DONE, token()), "after [DONE]", False),
        ((token(), END, DONE, b"data: x\n"), "middle of an event", True),
        ((b"data: \xff\n\n", END, DONE), "UTF-8", True),
        ((b"data: {\n\n", END, DONE), "not JSON", True),
    ],
)
def test_breaches_of_the_protocol_are_faults_not_failures(pieces, fault, unreadable) -> None:
    """The stream is read to its end and the breach is noted, apart if it lost or mangled output."""
    record, _ = ask(saying(*pieces))
    assert record.whole
    assert any(fault in words for words in record.faults)
    assert any(fault in words for words in record.unreadable) is unreadable


def test_crlf_streams_are_read() -> None:
    """TabbyAPI's line ends give the same record."""
    record, _ = ask(saying(*(piece.replace(b"\n", b"\r\n") for piece in (token(), token(), END, DONE))))
    assert (record.content, record.finish_reason, record.done_markers, record.faults) == ("aa", "length", 1, ())


def test_an_error_in_the_stream_is_an_error_under_status_200() -> None:
    """The record is not whole, though the HTTP answer is."""
    record, _ = ask(saying(token(), event('{"error":{"message":"boom"}}'), DONE))
    assert record.status == 200
    assert not record.whole
    assert record.error == "boom"


def test_no_other_server_answers_for_this_one() -> None:
    """A redirect is not followed, whatever stands at its end: it is a refusal, with its status."""
    head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    record, wire = ask(saying(head=head))
    assert (record.ended, record.status) == (Ended.REFUSED, 307)
    assert record.error
    assert not any(b"/elsewhere" in request for request in wire.requests)


def test_a_refusal_keeps_its_words() -> None:
    """A status other than 2xx is a refusal with the server's own message."""
    body = b'{"error":{"message":"concurrency limit reached"}}'
    head = b"HTTP/1.1 429 Busy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    record, _ = ask(saying(body, head=head))
    assert (record.ended, record.status, record.error) == (Ended.REFUSED, 429, "concurrency limit reached")


def test_nobody_there_is_a_refusal() -> None:
    """A port without a listener gives a record, not an exception."""

    async def go():
        async with connect("http://127.0.0.1:9", Limits(total=3)) as connection:
            return await complete(connection, CompletionRequest("/v1/completions", BODY))

    record = asyncio.run(go())
    assert record.ended is Ended.REFUSED
    assert record.sent_ns is None


def test_a_broken_connection_is_told_apart_from_an_end() -> None:
    """A stream cut in the middle of its chunked body was disconnected."""
    record, _ = ask(_cut_in_the_middle)
    assert record.ended is Ended.DISCONNECTED
    assert len(record.deltas) == 1


async def _cut_in_the_middle(_reader, writer) -> None:
    writer.write(EVENTS + chunk(token()))
    await writer.drain()
    await asyncio.sleep(0.02)
    writer.close()


def test_a_plain_answer_is_recorded_too() -> None:
    """Without streaming the body gives content, finish reason and usage."""
    body = b'{"choices":[{"index":0,"text":"hi","finish_reason":"stop"}],"usage":{"completion_tokens":1}}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    record, _ = ask(saying(body, head=head), body={"prompt": "x"})
    assert (record.content, record.finish_reason, record.completion_tokens, record.faults) == ("hi", "stop", 1, ())


def test_no_stream_where_one_was_asked_for_is_a_fault() -> None:
    """A server that ignores ``stream`` is read and noted."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    record, _ = ask(saying(b"{}", head=head))
    assert "not text/event-stream" in record.faults[0]


@pytest.mark.parametrize(
    ("script", "limits"),
    [
        (endless(token(), pause=0), Limits(total=20, body=200_000)),
        (endless(b"x" * 10_000, pause=0), Limits(total=20, line=50_000)),
        (endless(token(), pause=0), Limits(total=20, events=500)),
        (endless(b"d", pause=0), Limits(total=20, reads=50)),
    ],
    ids=["endless", "no newline", "many events", "many reads"],
)
def test_a_hostile_answer_ends_at_its_bound(script, limits) -> None:
    """An answer without end costs bounded memory and ends as a passed limit."""
    begun = monotonic()
    record, _ = ask(script, limits)
    assert record.ended is Ended.LIMIT
    assert len(record.raw) <= limits.raw
    assert monotonic() - begun < 15


def test_a_trickle_ends_at_the_time_limit() -> None:
    """A server that always says a little more is left when the time is over."""
    record, _ = ask(endless(b": x\n\n", pause=0.02), Limits(total=0.4))
    assert record.ended is Ended.TIMEOUT


def test_silence_ends_at_the_idle_limit() -> None:
    """A server that accepts and says nothing more is left after the idle time."""

    async def mute(_reader, writer) -> None:
        writer.write(EVENTS)
        await asyncio.sleep(30)

    record, _ = ask(mute, Limits(total=20, idle=0.3))
    assert record.ended is Ended.TIMEOUT


def test_a_header_bomb_is_refused() -> None:
    """Headers beyond their bound end the answer before they are all read."""

    async def bomb(_reader, writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(1)

    record, _ = ask(bomb)
    assert record.ended is Ended.MALFORMED


def test_raw_bytes_are_kept_up_to_their_bound() -> None:
    """What was sent can be read again, and a cut copy says that it is cut."""
    record, _ = ask(saying(token(), END, DONE), Limits(total=10, raw=50))
    assert record.raw == token()[:50]
    assert record.raw_truncated


@pytest.mark.parametrize(("how", "seen"), [(How.CLOSE, "fin"), (How.RESET, "rst"), (How.HALF_CLOSE, "fin")])
def test_the_server_sees_how_the_client_left(how, seen) -> None:
    """A close arrives as FIN, a reset as RST, a half-close as FIN."""
    record, wire = ask(endless(token(), pause=0.01), cut=Cut(how, after_deltas=3, linger=0.2))
    assert record.ended is Ended.CUT
    assert record.error is None
    assert wire.left == [seen]


def test_a_half_closed_connection_is_still_read() -> None:
    """After our FIN the server's further tokens are recorded until it ends."""
    script = saying(*[token()] * 12, END, DONE, pause=0.02)
    record, _ = ask(script, cut=Cut(How.HALF_CLOSE, after_deltas=2, linger=5))
    assert record.ended is Ended.CUT
    assert (len(record.deltas), record.finish_reason, record.done_markers) == (12, "length", 1)


@pytest.mark.parametrize("how", list(How))
def test_a_cut_works_before_the_headers(how) -> None:
    """A request can be left while the server has said nothing yet: in the queue, or in prefill."""

    async def mute(_reader, _writer) -> None:
        await asyncio.sleep(30)

    begun = monotonic()
    record, wire = ask(mute, cut=Cut(how, after_s=0.1, linger=0.1))
    assert record.ended is Ended.CUT
    assert record.headers_ns is None
    assert record.sent_ns is not None
    assert wire.left == ["rst" if how is How.RESET else "fin"]
    assert monotonic() - begun < 5


def test_a_cut_on_an_event_waits_for_it() -> None:
    """The caller chooses the moment."""

    async def go():
        moment = asyncio.Event()
        async with serving(endless(token(), pause=0.005)) as wire, connect(wire.url, Limits(total=10)) as connection:
            work = asyncio.ensure_future(
                complete(connection, CompletionRequest("/v1/completions", BODY, Cut(on=moment)))
            )
            await asyncio.sleep(0.1)
            assert not work.done()
            moment.set()
            return await work

    assert asyncio.run(go()).ended is Ended.CUT


def test_an_answer_that_ends_before_the_cut_is_whole() -> None:
    """A cut that never came due leaves no trace."""
    record, _ = ask(saying(token(), END, DONE), cut=Cut(after_deltas=50, after_s=5))
    assert record.ended is Ended.COMPLETE


def test_cancelling_the_caller_closes_the_connection() -> None:
    """A cancelled probe leaves no request behind on the server."""

    async def go():
        async with serving(endless(token(), pause=0.005)) as wire:
            async with connect(wire.url, Limits(total=10)) as connection:
                work = asyncio.ensure_future(complete(connection, CompletionRequest("/v1/completions", BODY)))
                await asyncio.sleep(0.1)
                work.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await work
            await asyncio.sleep(0.1)
            return wire.left

    (left,) = asyncio.run(go())
    assert left in ("fin", "rst")  # what was unread as the socket closed decides which


def test_deltas_are_told_as_they_come() -> None:
    """A watcher hears how many tokens have come so far."""

    async def go():
        heard = []
        script = saying(token(), token(), END, DONE, pause=0.02)
        async with serving(script) as wire, connect(wire.url) as connection:
            await complete(connection, CompletionRequest("/v1/completions", BODY), heard.append)
        return heard

    heard = asyncio.run(go())
    assert heard[0] == 1
    assert heard[-1] == 2
