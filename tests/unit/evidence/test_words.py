"""Spans of time in the gate's sentences, and combined verdicts."""

from __future__ import annotations

import pytest

from stager.models.evidence import Verdict
from stager.models.verdicts import combine
from stager.models.words import short, span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3600, "1 h"), (90061, "1 d 1 h"), (604800, "7 d"), (62, "1 min 2 s")],
)
def test_a_span_is_written_in_its_two_largest_units(seconds: float, text: str) -> None:
    """People read days and hours, not seconds."""
    assert span(seconds) == text


def test_short_digests_keep_their_head() -> None:
    """A digest is cut to what people compare; a short word stays whole."""
    assert short("ab" * 32) == "abababababab…"
    assert short("unknown") == "unknown"


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["passed", "failed", "error"], "failed"),
        (["passed", "error", "inconclusive"], "error"),
        (["passed", "aborted", "inconclusive"], "aborted"),
        (["passed", "inconclusive"], "inconclusive"),
        (["passed", "passed"], "passed"),
        ([], "inconclusive"),
    ],
)
def test_verdicts_combine_by_a_fixed_precedence(verdicts: list[str], whole: str) -> None:
    """Failed outranks error, error inconclusive, and nothing at all is no pass."""
    assert combine(Verdict(verdict) for verdict in verdicts) == whole
