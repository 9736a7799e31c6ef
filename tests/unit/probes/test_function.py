"""Typed tool calls: strict about types, one call, an id, the right stream's numbers."""

import json
import random
from dataclasses import replace

import pytest

from stager.client.record import ToolCall
from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.function import most_at_once, pick_operands, wrongs
from tests.unit.probes.answers import answer
from tests.unit.probes.bench import finding

OPERANDS = [(2, 3), (40, 50)]


def _call(arguments: str, **changes):
    return replace(ToolCall(0, "c1", "add", arguments), **changes)


def _wrongs(*calls: ToolCall, word: str | None = "tool_calls", number: int = 0) -> list[str]:
    return wrongs(answer(tool_calls=calls), OPERANDS, number, word)


def test_a_right_call_has_nothing_wrong() -> None:
    """Whole numbers as JSON text, one call with an id, finish_reason tool_calls."""
    assert _wrongs(_call('{"a": 2, "b": 3}')) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": "2", "b": 3}', "not a whole number"),
        ('{"a": 2.0, "b": 3}', "not a whole number"),
        ('{"a": true, "b": 3}', "not a whole number"),
        ('{"a": 2, "b": null}', "not a whole number"),
        ('{"a": 2, "b"', "not JSON"),
        (json.dumps('{"a": 2, "b": 3}'), "encoded twice"),
        ('{"a": 2}', "not exactly a and b"),
        ('{"a": 2, "b": 3, "c": 4}', "not exactly a and b"),
        ("[2, 3]", "not exactly a and b"),
        ('{"a": 40, "b": 50}', "numbers of stream 1"),
        ('{"a": 3, "b": 2}', "adds 3 and 2 instead of 2 and 3"),
    ],
)
def test_wrong_arguments_are_named(arguments: str, words: str) -> None:
    """Each way of being wrong has its own words; "2" is not 2."""
    assert any(words in complaint for complaint in _wrongs(_call(arguments)))


def test_everything_around_the_arguments_counts_too() -> None:
    """A second call, a missing id, another name, an object as arguments and another finish reason are all told."""
    call = _call('{"a": 2, "b": 3}', id="", name="sum", arguments_type="dict")
    told = " / ".join(_wrongs(call, call, word="stop"))
    for words in ("2 calls", "no id", "'sum'", "dict, not JSON text", "'stop' instead of 'tool_calls'"):
        assert words in told


def test_plain_text_is_no_call() -> None:
    """An answer without a call says what came instead."""
    assert "no tool call came" in _wrongs(word="stop")[0]


def test_every_stream_has_numbers_of_its_own() -> None:
    """No number occurs twice in a round, so that cross-talk always shows."""
    numbers = [n for pair in pick_operands(random.Random(1), 64) for n in pair]
    assert len(set(numbers)) == 128


def test_open_at_once_is_counted_from_sending_to_end() -> None:
    """Two requests that overlap and one after them make two."""
    spans = [(0, 10), (5, 20), (20, 30)]
    assert most_at_once([answer(sent_ns=begin or 1, ended_ns=end) for begin, end in spans]) == 2


def test_the_honest_engine_passes_at_width_four() -> None:
    """Four streams at once, streamed and plain, make eight right calls."""
    found = finding("function")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["right_calls"].value == 8
    assert {end.finish_reason for end in found.termination.streams} == {"tool_calls"}


def test_a_stream_that_cuts_arguments_fails_although_plain_answers_are_whole() -> None:
    """Streamed and plain are judged apart, and one of them is enough to fail."""
    found = finding("function", Knobs(arguments_cut=True))
    assert found.verdict is Verdict.FAILED
    assert found.measurements["right_calls"].value == 4
