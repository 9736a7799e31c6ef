"""Text into a model, with every complaint at once."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import pytest
from pydantic import Field, model_validator

from stager.errors import InvalidFile
from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.quantities import Duration
from stager.models.shape import PRIVATE
from stager.models.source import Source, read
from stager.models.texts import EnvName


class Inner(Model):
    """A part with a limit, a choice and a cross-check."""

    n: Annotated[int, Field(ge=1)]
    of: int = 3
    mode: Literal["soft", "hard"] = "soft"

    @model_validator(mode="after")
    def _n_of(self) -> Self:
        refuse([Finding(("n",), f"at most {self.of}", str(self.n), (("of",),))] if self.n > self.of else [])
        return self


class Outer(Model):
    """A whole with a list, a free mapping and parts."""

    name: str
    inner: Inner = Inner(n=1)
    words: tuple[str, ...] = ()
    env: dict[EnvName, str] = Field(default_factory=dict, json_schema_extra=PRIVATE)


class Counted(Model):
    """An entry of a list."""

    count: int


class Switched(Model):
    """A switch, a quantity, a number, and a list that may not be empty."""

    on_off: bool
    lasts: Duration
    count: int
    several: Annotated[tuple[Counted, ...], Field(min_length=1)] = (Counted(count=1),)


def complaints(text: str) -> list[str]:
    """Return what is wrong with a text, line by line."""
    with pytest.raises(InvalidFile) as caught:
        read(text, "f.yaml", Outer)
    assert caught.value.code == 3
    return str(caught.value).splitlines()


def test_a_right_text_becomes_the_model() -> None:
    """Lists become tuples, defaults fill in, nothing is converted."""
    assert read("{name: x, words: [a, b]}", "f", Outer) == Outer(name="x", words=("a", "b"))


def test_every_complaint_comes_at_once_with_its_place() -> None:
    """Unknown key, missing key, wrong type, duplicate, choice, and a cross-check all show in one go, in line order."""
    text = "inner:\n  n: 9\n  mdoe: hard\nwords: [a, 7]\nwords: b\nport: 1\n"
    assert complaints(text) == [
        "f.yaml:1:1: name: expected text, found nothing. (the key is missing)",
        "f.yaml:2:3: inner/n: expected at most 3, found 9.",
        "f.yaml:3:3: inner/mdoe: expected one of n, of, mode, found the unknown key `mdoe`. (did you mean `mode`?)",
        "f.yaml:4:12: words/1: expected text, found the number 7. (put it in quotes)",
        "f.yaml:5:1: words: expected each key once, found a second `words`. (the first is on line 4)",
        "f.yaml:6:1: port: expected one of name, inner, words, env, found the unknown key `port`.",
    ]


def test_a_cross_check_that_read_a_wrong_value_is_silent() -> None:
    """`n` is not compared with a default that stands in for a mistyped `of`."""
    assert complaints("{name: x, inner: {n: 9, of: many}}") == [
        'f.yaml:1:25: inner/of: expected a whole number, found the text "many".'
    ]


def test_a_key_in_the_wrong_section_is_sent_home() -> None:
    """A known key at an unknown place is told where it belongs."""
    (found,) = complaints("{name: x, mode: hard}")
    assert "(`mode` belongs at inner/mode)" in found


def test_braces_without_quotes_are_recognised() -> None:
    """`{port}` unquoted is a mapping in YAML; the complaint shows the quoted form."""
    (found,) = complaints("{name: x, words: [--port, {port}]}")
    assert found.endswith('words/1: expected text, found a mapping. (put it in quotes: "{port}")')


def test_a_null_where_a_mapping_is_needed_shows_the_empty_one() -> None:
    """`inner:` with nothing after it is a null."""
    (found,) = complaints("name: x\ninner:\n")
    assert found.endswith("found nothing. (write {} for an empty one)")


def test_a_private_value_is_never_repeated() -> None:
    """A wrong value in a private place is described, not shown; a wrong name of one is."""
    found = "\n".join(complaints("name: x\nenv: {TOKEN: 12345678}\n"))
    assert "12345678" not in found
    assert "a value that is not repeated here" in found
    assert "the key `A B`" in "\n".join(complaints("name: x\nenv: {A B: x}\n"))


def test_a_text_of_another_shape_is_one_complaint() -> None:
    """A list, a word or a number is not what was expected, and that is all there is to say."""
    for text in ("[1]", "word", "7"):
        assert len(complaints(text)) == 1


def test_the_error_carries_its_parts() -> None:
    """Scripts read file, line, column, path, expectation and finding apart; next opens the file at the first line."""
    with pytest.raises(InvalidFile) as caught:
        read("\nname: 7", "my file.yaml", Outer)
    document = caught.value.document()["error"]
    assert document["complaints"] == [
        {
            "file": "my file.yaml",
            "line": 2,
            "column": 1,
            "path": "name",
            "expected": "text",
            "found": "the number 7",
            "hint": "put it in quotes",
        }
    ]
    assert document["next"] == "${EDITOR:-vi} +2 'my file.yaml'"
    assert document["host_state"] == "untouched"


def test_a_part_is_checked_later_with_the_same_places() -> None:
    """Whoever owns a free section validates it against a model of its own and complains with the file's own lines."""
    source = Source.parse("name: x\nfree:\n  n: 2\n  mode: sotf\n", "f")
    with pytest.raises(InvalidFile) as caught:
        source.part(Inner, ("free",))
    assert str(caught.value) == 'f:4:3: free/mode: expected soft or hard, found the text "sotf".'
    assert source.at(("free", "n")) == 2


def test_a_long_value_is_cut() -> None:
    """A complaint stays on a line or two whatever was written."""
    (found,) = complaints(f"{{name: x, inner: {{n: {'y' * 5000}}}}}")
    assert len(found) < 200


def test_a_section_of_names_is_checked_against_one_model_each() -> None:
    """Unknown names and wrong parameters of known ones come at once, with the file's lines and the nearest name."""
    source = Source.parse("probes:\n  inner: {n: 2}\n  innr: {}\n  outer: {nmae: x}\n", "f")
    with pytest.raises(InvalidFile) as caught:
        source.named_parts({"inner": Inner, "outer": Outer}, ("probes",))
    assert [line.partition(": expected")[0] for line in str(caught.value).splitlines()] == [
        "f:3:3: probes/innr",
        "f:4:3: probes/outer/name",
        "f:4:11: probes/outer/nmae",
    ]
    assert "(did you mean `inner`?)" in str(caught.value)


def test_a_right_section_of_names_becomes_its_models() -> None:
    """Each name has its own validated parameters; an absent section has none."""
    source = Source.parse("probes: {inner: {n: 2}}", "f")
    assert source.named_parts({"inner": Inner}, ("probes",)) == {"inner": Inner(n=2)}
    assert source.named_parts({"inner": Inner}, ("absent",)) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("on_off: on", 'on_off: expected true, or "on" in quotes, found the bare word on.'),
        ("lasts: on", 'lasts: expected a duration with its unit, such as 90s, 30m or 1h30m, found the text "on".'),
        ("count: 1_000", 'count: expected a number without underscores, or "1_000" in quotes, found the bare word'),
    ],
)
def test_a_word_that_readers_disagree_about_is_complained_about_once(text: str, says: str) -> None:
    """Of such a word only what helps is said: no true or false is asked for where a duration belongs."""
    _, found = Source.parse(text, "f.yaml").check(Switched)

    about = [str(one) for one in found if one.path == text.partition(":")[0]]
    assert len(about) == 1
    assert says in about[0]


def test_a_missing_duration_is_called_one() -> None:
    """What has to be written with a unit is asked for with a unit, not as a number."""
    _, found = Source.parse("on_off: true\ncount: 1", "f.yaml").check(Switched)

    assert [(one.path, one.expected) for one in found] == [
        ("lasts", "a duration with its unit, such as 90s, 30m or 1h30m")
    ]


def test_a_list_with_a_wrong_entry_is_not_called_too_short() -> None:
    """Of a list with one entry, and that wrong, only the entry is complained about."""
    _, found = Source.parse("lasts: 1s\non_off: true\ncount: 1\nseveral: [{x: 1}]", "f.yaml").check(Switched)

    assert {one.path for one in found} == {"several/0/x", "several/0/count"}
