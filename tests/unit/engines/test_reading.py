import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stager.engines.prometheus import metric_sum
from stager.engines.reading import Kind, Reading, Unreadable, read, read_number, resolve

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def at(pointer: str = "", *, metric: str = "", each: str = "") -> Reading:
    return Reading(name="x", path="/health", kind=Kind.MEASURED, source="", pointer=pointer, metric=metric, each=each)


def places(value, pointer=""):
    """Every pointer into a value, and what is there."""
    yield pointer, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


@given(JSON)
def test_every_place_of_a_document_can_be_pointed_at(document) -> None:
    """A pointer made by RFC 6901 leads to its value, whatever the keys."""
    for pointer, value in places(document):
        assert resolve(document, pointer) == value


@pytest.mark.parametrize("pointer", ["/b", "/a/9", "/a/-", "/a/01x", "/a/0/c", "a"])
def test_a_pointer_to_nowhere_is_unreadable(pointer) -> None:
    """Missing keys, indexes beyond the end, and what is no pointer."""
    with pytest.raises(Unreadable):
        resolve({"a": [1]}, pointer)


@pytest.mark.parametrize(("value", "number"), [(True, 1.0), (False, 0.0), (3, 3.0), (2.5, 2.5)])
def test_truth_values_and_numbers_are_numbers(value, number) -> None:
    """A ``busy`` that is true reads as 1, like a count of one."""
    assert read_number(at("/v"), json.dumps({"v": value}).encode()) == number


@pytest.mark.parametrize("value", ["3", None, [], {}])
def test_other_values_are_not_numbers(value) -> None:
    """A text that looks like a number is not taken for one."""
    with pytest.raises(Unreadable):
        read_number(at("/v"), json.dumps({"v": value}).encode())


def test_true_elements_are_counted() -> None:
    """An array of slots gives the number of those that are processing; a star counts all."""
    body = b'[{"is_processing": true}, {"is_processing": false}, {"is_processing": true}]'
    assert read_number(at(each="/is_processing"), body) == 2
    assert read_number(at(each="*"), body) == 3


@pytest.mark.parametrize("body", [b"", b"ok", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_not_json_is_unreadable(body) -> None:
    """Whatever a server sends, the answer is a value or Unreadable."""
    with pytest.raises(Unreadable):
        read(at("/v"), body)


def test_series_of_a_metric_are_summed() -> None:
    """One series per process or model: the whole is the sum, with or without labels and time stamps."""
    text = 'a{x="1"} 2\na{x="2",y="}"} 3.5 1700000000\nab 9\n# a 7\na_total 8\n'
    assert metric_sum(text, "a") == 5.5


@pytest.mark.parametrize("text", ["", "b 1\n", "a\n", "a{x 1\n", "a one\n", "a NaN\n"])
def test_a_metric_that_is_not_there_is_none(text) -> None:
    """Missing, malformed or not a number: no value, rather than zero."""
    assert metric_sum(text, "a") is None


def test_a_place_is_written_as_in_the_playbook() -> None:
    """Evidence names the endpoint the way an operator would."""
    assert at("/active").where == "/health#/active"
    assert at(metric="n").where == "/health#n"
    assert at(each="/busy").where == "/health#[/busy]"
