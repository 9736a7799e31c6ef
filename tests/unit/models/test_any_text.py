"""Whatever is written, the answer is a playbook or complaints about it; never another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stager.errors import InvalidFile
from stager.models.playbook import Playbook
from stager.models.source import read

EXAMPLE = Path(__file__).resolve().parents[3] / "playbooks" / "example.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")
DATA = yaml.safe_load(TEXT)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


def paths(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything inside a value."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path for key, item in inner for path in [(*above, key), *paths(item, (*above, key))]]


def judged(text: str) -> Playbook | list[Any]:
    """Return the playbook, or the complaints, each of which must have its place in the text."""
    try:
        return read(text, "f", Playbook)
    except InvalidFile as error:
        found: list[Any] = error.details["complaints"]
        lines = text.count("\n") + 2
        assert found
        assert all(
            1 <= one["line"] <= lines and one["column"] >= 1 and one["expected"] and one["found"] for one in found
        )
        return found


@given(st.text())
def test_any_text_at_all(text: str) -> None:
    """Random text is never a playbook, and always told why."""
    assert isinstance(judged(text), list)


@settings(max_examples=300)
@given(st.sampled_from(paths(DATA)), values)
def test_any_value_anywhere(path: tuple[Any, ...], value: Any) -> None:
    """The example with one value replaced by anything loads or is complained about; if it loads, it loads again."""
    data = json.loads(json.dumps(DATA))
    here = data
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    result = judged(yaml.safe_dump(data, allow_unicode=True))
    if isinstance(result, Playbook):
        assert Playbook.model_validate_json(result.model_dump_json(by_alias=True)) == result


@settings(max_examples=200)
@given(st.integers(0, len(TEXT)), st.integers(0, 30), st.text(max_size=5))
def test_any_slip_of_the_hand(start: int, length: int, typed: str) -> None:
    """The example with some characters lost and others typed loads or is complained about."""
    judged(TEXT[:start] + typed + TEXT[start + length :])
