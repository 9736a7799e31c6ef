"""Durations and sizes: what is read, what is refused and with which words, and that both survive a round trip."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stager.models.base import Model
from stager.models.quantities import Duration, Size, format_duration, format_size, parse_duration, parse_size


class Written(Model):
    """One of each."""

    time: Duration = 1.0
    space: Size = 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("30m", 1800.0),
        ("4h", 14400.0),
        ("1h30m", 5400.0),
        ("1d", 86400.0),
        ("250ms", 0.25),
        ("1.5h", 5400.0),
        ("1m0.5s", 60.5),
        ("0s", 0.0),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    """Each unit counts as what it says, alone and in a row."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "90", "s", "-1s", "1m1h", "1s1s", "1 h", "1w", "1e3s", "٣s", "nan", "inf", "1h 30m"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    """A duration without a unit, with a sign, or out of order is refused, and the message shows how it is written."""
    with pytest.raises(ValueError, match="such as 90s, 30m or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("20GiB", 20 * 2**30), ("500MB", 500_000_000), ("1.5KiB", 1536), ("0B", 0), ("7 TiB", 7 * 2**40), ("3kB", 3000)],
)
def test_a_size_is_read_in_bytes(text: str, size: int) -> None:
    """GB counts in tens, GiB in twos."""
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("20G", "GiB, GB"),
        ("20gb", "GB"),
        ("20", "with its unit"),
        ("x", "with its unit"),
        ("0.3B", "whole number of bytes"),
        ("1parsec", "TiB, TB"),
    ],
)
def test_what_is_no_size_is_refused_with_the_units_it_may_mean(text: str, words: str) -> None:
    """An ambiguous unit such as G is never guessed at."""
    with pytest.raises(ValueError, match=words):
        parse_size(text)


@given(st.floats(min_value=0, max_value=10**9, allow_nan=False).map(lambda value: round(value, 6)))
def test_every_duration_reads_back_as_itself(seconds: float) -> None:
    """format_duration is undone by parse_duration."""
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(min_value=0, max_value=2**50))
def test_every_size_reads_back_as_itself(size: int) -> None:
    """format_size is undone by parse_size."""
    assert parse_size(format_size(size)) == size


def test_a_number_in_a_file_needs_its_unit() -> None:
    """In JSON or YAML a bare number is refused, because 90 may be meant as minutes."""
    with pytest.raises(ValidationError, match="a duration with its unit"):
        Written.model_validate_json('{"time": 90}')
    with pytest.raises(ValidationError, match="a size with its unit"):
        Written.model_validate_json('{"space": 90}')


def test_code_may_give_seconds_and_bytes() -> None:
    """A model made in code takes numbers, but no negative, infinite or boolean ones."""
    assert Written(time=90, space=5) == Written(time=90.0, space=5)
    for wrong in (-1, float("inf"), float("nan"), True):
        with pytest.raises(ValidationError):
            Written(time=wrong)


def test_a_document_holds_the_written_form() -> None:
    """JSON shows what a person would write, and loads again as the same value."""
    value = Written(time=5400.0, space=20 * 2**30)
    assert value.document() == {"time": "1h30m", "space": "20GiB"}
    assert Written.model_validate_json(value.model_dump_json()) == value
