"""The whole answer as a document, and the chart."""

from __future__ import annotations

import pytest

from stager.context.ceiling import Card, Claims
from stager.context.chart import chart
from stager.context.fit import GIB, Stored
from stager.context.formats import FORMATS, find_format
from stager.context.report import Report, document, report
from tests.unit.context.test_fit import NOTES

ALL = [Stored.both(form) for form in FORMATS]


def answer(card: Card | None = None) -> Report:
    return report(NOTES, ALL, Claims(4), card or Card(24 * GIB, 12 * GIB))


def test_the_document_of_the_notes_example() -> None:
    """The keys that scripts read hold the notes' numbers."""
    found = document(answer())

    assert found["kv_layers"] == 16
    assert found["bytes_per_token"] == 65_536
    assert {name: found["formats"][name] for name in ("fp16", "q8_0", "q4_0", "8bit-ideal", "4bit-ideal")} == {
        "fp16": 16.0,
        "q8_0": 8.5,
        "q4_0": 4.5,
        "8bit-ideal": 8.0,
        "4bit-ideal": 4.0,
    }
    assert found["private_windows"]["4bit-ideal"]["4"] == 16.0
    assert found["recurrent_state_mib_per_sequence"] == 149.625


def test_the_ceiling_of_the_document() -> None:
    """What the pool promises stands beside what private windows take, with the reasons."""
    found = document(answer())["ceiling"]

    assert (found["slots"], found["pool_promises_tokens_each"]) == (4, 65_536)
    assert found["formats"]["q4_0"]["private_windows_that_fit"] == 2
    assert "take 18.58 GiB" in found["formats"]["q4_0"]["cannot_hold_together"][0]


def test_an_unknown_card_is_null() -> None:
    """What is not known is null in the document."""
    found = document(answer(Card()))

    assert found["card"] == {"memory_gib": None, "weights_gib": None}
    assert found["ceiling"]["formats"]["q4_0"]["private_windows_that_fit"] is None


def test_the_number_of_slots_is_among_the_private_windows() -> None:
    """An uncommon number of slots gets its own column."""
    found = document(report(NOTES, ALL[:1], Claims(3), Card()))

    assert sorted(found["private_windows"]["fp32"]) == ["1", "2", "3", "4", "8"]


def test_reasons_are_sorted_by_format() -> None:
    """A format that fits is absent from the reasons."""
    found = report(NOTES, ALL, Claims(2), Card(24 * GIB, 12 * GIB)).reasons

    assert "fp16" in found
    assert "q4_0" not in found


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_chart_marks_the_card(ascii_only: bool) -> None:
    """Each bar says whether it fits, all bars have one width, and the mark has its legend."""
    two = [Stored.both(find_format(name)) for name in ("fp16", "q4_0")]
    lines = chart(report(NOTES, two, Claims(4), Card(24 * GIB, 12 * GIB)), ascii_only=ascii_only).splitlines()

    assert [line.split()[-1] for line in lines[:4]] == ["much", "much", "fits", "much"]
    assert len({line.index(" GiB") for line in lines[:4]}) == 1
    assert all(line.count("|") == 1 for line in lines)
    assert lines[4].endswith("12.00 GiB, what the weights leave")
    assert not ascii_only or all(line.isascii() for line in lines)


def test_the_chart_of_an_unknown_card_judges_nothing() -> None:
    """Without a card the bars are only lengths."""
    drawn = chart(report(NOTES, ALL[:2], Claims(1), Card()))

    assert "fits" not in drawn
    assert "|" not in drawn
