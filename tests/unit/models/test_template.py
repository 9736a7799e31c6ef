"""Placeholders in argv words."""

from __future__ import annotations

import pytest

from stager.models.template import fill, placeholders


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{port}", {"port"}),
        ("http://{bind}:{port}/", {"bind", "port"}),
        ("{{port}}", set()),
        ('{"method": "ngram"}', set()),
        ("{}", set()),
        ("{Port}", set()),
        ("${HOME}", set()),
    ],
)
def test_only_a_lower_case_word_in_single_braces_is_a_placeholder(text: str, names: set[str]) -> None:
    """JSON, shell variables and doubled braces are text."""
    assert placeholders(text) == names


def test_filling_replaces_placeholders_and_unwraps_doubled_braces() -> None:
    """Values go in as they are; what was escaped loses one pair of braces; the rest stays."""
    assert fill('--port={port} {{port}} {"a": 1}', {"port": "18080"}) == '--port=18080 {port} {"a": 1}'


def test_a_value_is_not_filled_again() -> None:
    """Braces inside a value stay text."""
    assert fill("{home}", {"home": "{port}", "port": "1"}) == "{port}"


def test_a_placeholder_without_a_value_is_an_error() -> None:
    """Nothing is silently left unfilled."""
    with pytest.raises(KeyError):
        fill("{port}", {})
