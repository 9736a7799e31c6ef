"""The table of lies."""

from dataclasses import fields

from stager.lab.knobs import Knobs
from stager.lab.lies import LIES


def test_there_are_at_least_24_lies_with_names_of_their_own() -> None:
    """The suite is calibrated against enough different liars."""
    names = [lie.name for lie in LIES]

    assert len(names) == len(set(names)) >= 24


def test_every_knob_is_turned_by_some_lie() -> None:
    """A knob that no liar uses would be a lie that no probe is held against."""
    turned = {f.name for f in fields(Knobs) if any(getattr(lie.knobs, f.name) != f.default for lie in LIES)}

    assert {f.name for f in fields(Knobs)} - turned == set()


def test_no_lie_is_the_truth() -> None:
    """Each liar differs from the honest engine."""
    assert all(lie.knobs != Knobs() for lie in LIES)
