"""The HTML report: one file, nothing loaded, nothing run, everything that belongs beside a number."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser

import pytest

from stager.models.evidence import ConfiguredField, StreamEnd, Termination, Verdict
from stager.reports import plots
from stager.reports.markup import Html, tag
from stager.reports.page import report_page
from stager.reports.samples import Samples, read_samples, shared_span
from tests.unit.reports.cases import evidence, latency_raw, overlap_raw, raw_of_record, record

VOID = {"meta", "br", "hr", "col", "link", "img"}


class Reader(HTMLParser):
    """Reads a page strictly: every element closed in order, every id once; keeps text, tags and references."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.styles: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "src", "xlink:href", "action", "data", "poster", "srcset"}:
                self.references.append(value or "")
            if name == "style":
                self.styles.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page() -> str:
    """The report of a run with everything in it."""
    return report_page(record(), raw_of_record())


def test_the_page_is_whole_and_well_formed(page: str) -> None:
    """Every element is closed, and no id is used twice, plots included."""
    reader = Reader(page)

    assert page.startswith("<!doctype html>")
    assert len(reader.ids) == len(set(reader.ids))


def test_the_page_loads_and_runs_nothing(page: str) -> None:
    """No script, no link, no address: references stay inside the page, and the page forbids itself the rest."""
    reader = Reader(page)

    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(reader.tags)
    assert all(reference.startswith("#") for reference in reader.references)
    assert {reference[1:] for reference in reader.references} <= set(reader.ids)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src &#x27;none&#x27;" in page


def test_the_page_says_what_belongs_beside_each_number(page: str) -> None:
    """Claims, reasons, samples, ends, limits, gate, cleanup and steps are all there as text."""
    text = " ".join(Reader(page).text.split())

    for words in (
        "exl3-batch4",
        "exit 8",
        "production as before",
        "gate: refuse",
        "overlap/executing: the newest attempt was inconclusive.",
        "first and last token of 4 streams",
        "all streams ended (4 x length)",
        "time-slicing also keeps all of them generating",
        "Configured: claims of the engine, never evidence",
        "production: llama.service",
        "1 of 73 health checks was not answered: timed out",
        "/run/llama/x.maintenance not ours",
        "launch and wait until ready",
        "RTX 3090",
    ):
        assert words in text


def test_plots_take_the_pages_colours(page: str) -> None:
    """No plot has a colour, font or size of its own, so that light and dark both work."""
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.S)

    assert len(drawings) == 5  # production, candidate, generating, executing close up, health
    for drawing in drawings:
        colours = set(re.findall(r"#[0-9a-f]{6}\b", drawing))
        assert colours <= {"#ffffff"}  # never painted: backgrounds are transparent
        assert "font-family" not in drawing
        assert "DejaVu" not in drawing
        assert "<title>" in drawing


def test_what_a_server_says_stays_text() -> None:
    """Scripts in names, reasons, finish reasons and configured values are shown, not obeyed."""
    evil = "<script>alert(1)</script><img src=x onerror=y>\"'"
    item = evidence(
        b"",
        verdict=Verdict.FAILED,
        reasons=(evil,),
        not_proven=(evil,),
        sampled=evil,
        termination=Termination(reason=evil, streams=(StreamEnd(stream=0, finish_reason=evil),)),
        configured=(ConfiguredField(name=evil, value={evil: [evil]}, endpoint=evil),),
        parameters={evil: evil},
    )

    reader = Reader(report_page(record(evidence=(item,), playbook=evil), {}))

    assert not {"script", "img"} & set(reader.tags)
    assert reader.text.count("alert(1)") >= 8


def test_missing_raw_samples_are_said() -> None:
    """Where raw samples are gone there is a sentence in place of the plot."""
    assert "missing or were changed" in Reader(report_page(record(), {})).text


def test_the_page_works_without_the_plotting_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra there are no plots, and the page says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    page = report_page(record(), raw_of_record())

    assert "<svg" not in page
    assert "pip install 'stager[plots]'" in Reader(page).text


def test_a_run_that_never_got_far_has_a_page() -> None:
    """No build, no evidence, no cleanup: the page says so."""
    bare = record(
        build_id=None, evidence=(), baseline=(), cleanup=None, exit_code=None, ended_at=None, gate=None, steps=()
    )

    text = Reader(report_page(bare, {})).text

    for words in ("no build was reached", "No evidence was taken", "Not cleaned up yet", "not ended yet"):
        assert words in text


def test_the_same_run_gives_the_same_page(page: str) -> None:
    """Nothing in the page depends on when or how often it is made."""
    assert report_page(record(), raw_of_record()) == page


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"not json",
        b'"x"',
        b'{"streams": [1, {}, {"sent": "x"}], "gauge": 4, "/x": [[1]]}',
        b'{"streams": {"a": 1}, "gauge": {"samples": [[1, 2], ["a", "b", "c"]]}}',
        b'{"/x": [[], [1, 2, 3], ["a", 1, 2, 200, null]], "/y": {}}',
        b'{"streams": null, "gauge": null}',
        b"\xff\xfe",
    ],
)
def test_raw_samples_of_another_shape_are_not_drawn(raw: bytes) -> None:
    """What cannot be read is left out, never guessed."""
    assert read_samples(raw) == Samples()


def test_single_answers_are_found_wherever_they_lie() -> None:
    """Answers a probe kept one by one are drawn on one time axis, oldest first, under their own names."""
    answer = {"sent_ns": 5 * 10**9, "delta_ns": [10**8, 2 * 10**8], "finish_reasons": ["stop"]}
    later = answer | {"sent_ns": 7 * 10**9, "finish_reasons": [], "ended": "timeout", "delta_ns": []}

    samples = read_samples(json.dumps({"rounds": {"late": later, "answers": [answer]}, "note": 1}).encode())

    assert [(stream.name, stream.sent, stream.tokens, stream.ended) for stream in samples.streams] == [
        ("answers 1", 0.0, (0.1, 0.2), "stop"),
        ("late", 2.0, (), "timeout"),
    ]


def test_raw_samples_are_read_in_seconds() -> None:
    """Streams, gauge and latencies come out in seconds and milliseconds from their beginning."""
    samples = read_samples(overlap_raw(serial=True))
    (latency,) = read_samples(latency_raw()).latencies

    assert [round(stream.ttft or 0, 2) for stream in samples.streams] == [0.45, 1.23, 2.01, 2.79]
    assert {stream.ended for stream in samples.streams} == {"length"}
    assert samples.gauge is not None
    assert max(value for _, value in samples.gauge.points) == 1
    assert len(latency.points) == 71
    assert latency.missing == (4.0, 4.1)
    assert latency.span == (0.5, 6.5)


def test_the_shared_span_is_where_all_streams_generate() -> None:
    """Streams one after the other share no time; batched ones do, and only then there is a closer look."""
    serial, batched = (read_samples(overlap_raw(serial=serial)) for serial in (True, False))

    assert shared_span(serial.streams) is None
    assert plots.draw_closely(serial, "x") == []
    span = shared_span(batched.streams)
    assert span is not None
    assert span[0] < 0.5 < 2.5 < span[1]
    assert len(plots.draw_closely(batched, "x")) == 1


def test_markup_is_escaped_unless_it_is_markup() -> None:
    """Text, attributes and nothing-at-all each come out right."""
    assert tag("p", "a<b", Html("<i>c</i>"), None, 4, class_='x"y') == '<p class="x&quot;y">a&lt;b<i>c</i>4</p>'
    assert tag("meta", name="n", http_equiv="h", content=None) == '<meta name="n" http-equiv="h">'


def test_every_table_scrolls_in_a_box_of_its_own() -> None:
    """On a phone the page does not move sideways: whatever is wider than it is in a box that scrolls."""
    page = report_page(record(), {})

    assert page.count("<table") == page.count('<div class="wide"><table') > 2
    assert ".wide { overflow-x: auto; }" in page
