"""YAML as data with places: what is read, what is refused, and where."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stager.models.yamltree import Spot, parse


def complaints(text: str) -> list[str]:
    """Return the complaints about a text, as people read them."""
    return [str(one) for one in parse(text, "f").complaints]


def test_plain_words_mean_what_yaml_1_2_says() -> None:
    """Numbers, booleans, nulls and text come out as such, dates as text."""
    text = "{a: 1, b: -2.5, c: true, d: null, e: ~, f: x y, g: '1', h: 1e3, i: 2026-11-29, j: 1.10.2, k: +3, l:}"
    assert parse(text, "f").data == {
        "a": 1,
        "b": -2.5,
        "c": True,
        "d": None,
        "e": None,
        "f": "x y",
        "g": "1",
        "h": 1000.0,
        "i": "2026-11-29",
        "j": "1.10.2",
        "k": 3,
        "l": None,
    }


@pytest.mark.parametrize(
    "word", ["on", "Off", "yes", "NO", "22:30", "1:30:00", "0644", "0x1F", "1_000", "089", ".inf", ".NaN"]
)
def test_a_word_yaml_readers_disagree_about_is_refused_unless_quoted(word: str) -> None:
    """Whoever wrote it may have meant either, so it is never guessed at."""
    (found,) = complaints(f"key: {word}")
    assert found.startswith("f:1:6: key: expected ")
    assert f"the bare word {word}" in found
    assert parse(f"key: '{word}'", "f").data == {"key": word}
    assert not complaints(f"key: '{word}'")


def test_a_key_is_text_whatever_it_looks_like() -> None:
    """An environment variable called ON or NO is no trap as a key."""
    assert parse("{on: 1, 22:30: 2, 0644: 3}", "f").data == {"on": 1, "22:30": 2, "0644": 3}


def test_a_duplicate_key_is_refused_with_the_line_of_the_first() -> None:
    """The second of two equal keys never wins silently."""
    assert complaints("a: 1\nb: 2\na: 3\n") == [
        "f:3:1: a: expected each key once, found a second `a`. (the first is on line 1)"
    ]
    assert complaints("a: {x: 1, x: 2}") == [
        "f:1:11: a/x: expected each key once, found a second `x`. (the first is on line 1)"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty file"),
        ("# only a comment\n", "an empty file"),
        ("a: [1", "a mistake in the YAML"),
        ("a: b: c", "f:1:5: expected one YAML document"),
        ("\ta: 1", "a mistake in the YAML"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("a: *nobody", "undefined alias"),
        ("a: \x01", "f:1:4: expected printable text, found the character U+0001"),
        ("a: !!python/object:os.system x", "the tag !!python/object:os.system"),
        ("a: !!str 5", "tags are not read"),
        ("base: &b {x: 1}\na: {<<: *b}", "a merge key"),
        ("{[1]: 2}", "expected a word as key"),
        ("a: &a [*a]", "at most"),
        ("[" * 3000, "levels"),
        ('a: "\\ud83d"', "half a surrogate pair"),
        ('"\\ud83d": 1', "half a surrogate pair"),
    ],
)
def test_text_that_is_no_plain_yaml_is_refused_with_its_place(text: str, words: str) -> None:
    """Every kind of broken or too clever YAML has its own sentence."""
    (found, *_) = complaints(text)
    assert words in found


def test_aliases_that_multiply_are_cut_off() -> None:
    """A few lines that expand to millions of values are refused, quickly."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    names = "abcdefgh"
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in pairwise(names)]
    (found,) = complaints("\n".join(lines))
    assert "aliases or nesting" in found


def test_an_alias_is_read_where_it_stands() -> None:
    """A small alias is a plain repetition."""
    assert parse("a: &x [1, 2]\nb: *x", "f").data == {"a": [1, 2], "b": [1, 2]}


def test_every_path_knows_its_place() -> None:
    """Keys and list entries are found again by line and column; a missing path falls back to what is above."""
    tree = parse("a:\n  b: [10, 20]\n", "f")
    assert tree.spot(("a", "b")) == Spot(2, 3)
    assert tree.spot(("a", "b", 1)) == Spot(2, 11)
    assert tree.spot(("a", "nothing")) == Spot(1, 1)
    assert tree.spot(("z",)) == Spot(1, 1)
