"""Exit codes and their meanings."""

from __future__ import annotations

from stager import errors
from stager.cli.exits import MEANINGS, codes_of


def all_errors(root: type[errors.StagerError] = errors.StagerError) -> list[type[errors.StagerError]]:
    """Return an error class and all its descendants in the error module."""
    below = [
        found for child in root.__subclasses__() if child.__module__ == errors.__name__ for found in all_errors(child)
    ]
    return [root, *below]


def test_every_code_has_a_meaning_and_a_gravity() -> None:
    """Whatever an error class exits with is explained, and weighed against the others."""
    codes = set(codes_of(all_errors()))
    assert codes == set(MEANINGS) == set(errors.GRAVITY)


def test_a_commands_codes_are_those_of_its_errors() -> None:
    """Success, fault and wrong use are always possible; the rest only if the command says so."""
    assert codes_of([]) == (0, 1, 2)
    assert codes_of([errors.Refused, errors.Stopped]) == (0, 1, 2, 4, 129, 130, 143)
