"""Marker kinds."""

from __future__ import annotations

import pytest

from stager.errors import InvalidFile
from stager.models.marker import MarkerKind
from stager.models.source import read


def test_a_kind_fills_in_the_run() -> None:
    """{run_id} in path and content becomes the run's."""
    text = "path: /run/llama/{run_id}.maintenance\ncontent: 'run {run_id}\n\n  '\nmeans: Keep off.\n"
    kind = read(text, "m", MarkerKind)
    assert kind.path_for("r1") == "/run/llama/r1.maintenance"
    assert kind.content_for("r1").startswith("run r1")
    assert kind.mode == "0644"


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("{means: x}", "path", "an absolute path"),
        ("{path: run/x, means: x}", "path", "an absolute path"),
        ("{path: /run/x/, means: x}", "path", "a file"),
        ("{path: '/run/{user}', means: x}", "path", "{run_id}, or no braces"),
        ("{path: /run/x}", "means", "one sentence"),
        ("{path: /run/x, means: x, mode: 0644}", "mode", "an octal number in quotes"),
        ("{path: /run/x, means: x, mode: 644}", "mode", "four octal digits in quotes"),
        ("{path: /run/x, means: x, mode: '0666'}", "mode", "only the owner may write"),
        ("{path: /run/x, means: x, obeyed: []}", "obeyed", "one of path"),
    ],
)
def test_a_wrong_kind_is_named_where_it_is_wrong(text: str, where: str, expected: str) -> None:
    """One mistake is one complaint."""
    with pytest.raises(InvalidFile) as caught:
        read(text, "m", MarkerKind)
    (found,) = caught.value.details["complaints"]
    assert found["path"] == where
    assert expected in found["expected"]
