from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stager.client.limits import LimitExceeded, Limits
from stager.client.sse import Event, SseParser

ENDS = st.sampled_from(["\n", "\r", "\r\n"])
TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\n\0"), max_size=20)
LINES = st.one_of(
    TEXT.map(lambda text: f"data:{text}"),
    TEXT.map(lambda text: f"data: {text}"),
    TEXT.map(lambda text: f":{text}"),
    TEXT.map(lambda text: f"event: {text}"),
    TEXT.map(lambda text: f"id: {text}"),
    TEXT,
    st.just(""),
    st.just("data"),
)


def parse(data: bytes, *cuts: int) -> list[Event]:
    parser, events, begin = SseParser(), [], 0
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        events += parser.feed(data[begin:cut])
        begin = cut
    return events


@given(lines=st.lists(st.tuples(LINES, ENDS), max_size=30), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_events_do_not_depend_on_where_reads_cut_the_stream(lines, cuts) -> None:
    """However the bytes are split, inside a line end or a character too, the events are the same."""
    data = "".join(line + end for line, end in lines).encode()
    assert parse(data, *cuts) == parse(data)


@given(texts=st.lists(TEXT, max_size=10), end=ENDS, space=st.booleans(), cut=st.integers(0, 200))
def test_data_comes_out_as_it_went_in(texts, end, space, cut) -> None:
    """Each event's data survives, with any line end and with or without the optional space."""
    blank = " " if space else ""
    kept = [text if space else text.removeprefix(" ") for text in texts]
    data = "".join(f"data:{blank}{text}{end}{end}" for text in texts).encode()
    assert [event.data for event in parse(data, cut)] == kept


@given(texts=st.lists(TEXT, min_size=1, max_size=5))
def test_line_ends_may_be_mixed(texts) -> None:
    """LF, CR and CRLF in one stream all end lines."""
    ends = ["\n", "\r", "\r\n"]
    data = "".join(f"data: {text}{ends[i % 3]}{ends[(i + 1) % 3]}" for i, text in enumerate(texts))
    assert [event.data for event in parse(data.encode())] == texts


def test_a_cr_at_the_end_of_a_read_ends_its_line_at_once() -> None:
    """An event is handed out with the read that ends it, not one read later."""
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [Event("message", "a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [Event("message", "b")]


def test_one_space_is_optional_and_only_one() -> None:
    """``data:x``, ``data: x`` and ``data:  x`` differ by the second space only."""
    assert [event.data for event in parse(b"data:x\n\ndata: x\n\ndata:  x\n\n")] == ["x", "x", " x"]


def test_lines_of_data_are_joined() -> None:
    """Several data lines of one event are joined with LF; a data line without colon is an empty one."""
    assert parse(b"data: a\ndata\ndata: b\n\n") == [Event("message", "a\n\nb")]


def test_comments_are_counted_and_are_no_events() -> None:
    """Keep-alive comments bring no event, whatever is in them."""
    parser = SseParser()
    assert parser.feed(b": ping\n\n:\n\n: keepalive 1/9\n\n") == []
    assert parser.comments == 3


def test_an_event_has_its_name_once() -> None:
    """A named event keeps its name for itself."""
    assert parse(b"event: error\ndata: x\n\ndata: y\n\n") == [Event("error", "x"), Event("message", "y")]


def test_a_name_without_data_is_not_dispatched() -> None:
    """An event without data is dropped, and its name does not leak into the next."""
    assert parse(b"event: ping\n\ndata: x\n\n") == [Event("message", "x")]


@given(cut=st.integers(0, 12))
def test_a_byte_order_mark_is_dropped(cut) -> None:
    """A leading byte order mark is no part of the first line; a later one is."""
    assert parse(b"\xef\xbb\xbfdata: x\n\n", cut) == [Event("message", "x")]
    assert parse(b"data: x\n\n\xef\xbb\xbfdata: y\n\n") == [Event("message", "x")]


def test_an_unfinished_event_is_dropped_and_told() -> None:
    """What the stream ends in the middle of is discarded, and the caller can know."""
    parser = SseParser()
    assert parser.feed(b"data: x\n") == []
    assert parser.close() is True
    parser = SseParser()
    assert parser.feed(b"data: x\n\n") == [Event("message", "x")]
    assert parser.close() is False


def test_wrong_utf8_is_counted_and_replaced() -> None:
    """Bytes that are no UTF-8 do not stop the stream; they are counted."""
    parser = SseParser()
    assert parser.feed(b"data: \xff\xfe\n\n") == [Event("message", "��")]
    assert parser.broken_text == 1


def test_a_line_without_end_is_bounded() -> None:
    """A line that never ends is refused at the bound, long before memory matters."""
    parser = SseParser(Limits(line=1000))
    for _ in range(10):
        parser.feed(b"x" * 100)
    with pytest.raises(LimitExceeded, match="1000 bytes"):
        parser.feed(b"x")


def test_a_long_line_that_ends_in_the_same_read_is_bounded_too() -> None:
    """The bound holds however the line arrives."""
    with pytest.raises(LimitExceeded):
        SseParser(Limits(line=1000)).feed(b"data: " + b"x" * 1000 + b"\n\n")


def test_an_event_of_many_lines_is_bounded() -> None:
    """Endless data lines without a blank line are refused at the bound."""
    parser = SseParser(Limits(event=1000))
    for _ in range(71):
        parser.feed(b"data: 12345678\n")
    with pytest.raises(LimitExceeded, match="one event"):
        parser.feed(b"data: 12345678\n")


def test_a_long_line_in_small_reads_costs_linear_time() -> None:
    """Bytes already searched for a line end are not searched again."""
    parser = SseParser(Limits(line=1 << 20))
    begun = process_time()
    for _ in range(1 << 16):
        parser.feed(b"0123456789abcde")
    assert process_time() - begun < 3.0  # searching again and again takes over ten times as long
