"""What a lie is: how the engine is made to tell it, and the probe that must catch it.

Report numbers are GitHub issues or pull requests, ``owner/name number`` (anchors/probes.md, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from stager.lab.knobs import Knobs, Shape


@dataclass(frozen=True)
class Lie:
    """One way of not being what one claims.

    Attributes:
        name: the knob's name with dashes, or a combination's own name.
        probe: the probe that is meant to catch it.
        knobs: how the engine is made to lie.
        story: what such an engine does, in one sentence.
        seen_in: where this has been reported in public; empty where it is only to be expected.
        shape: the engine's shape where the lie needs its own.
        unmeasurable: the lie hides the truth rather than bending it, so ``inconclusive`` catches it as well.
    """

    name: str
    probe: str
    knobs: Knobs
    story: str
    seen_in: str = ""
    shape: Shape | None = None
    unmeasurable: bool = False


def one_knob(probe: str, story: str, seen_in: str = "", *, name: str = "", **settings: bool | int) -> Lie:
    """A lie of one knob, named after it, unless several knobs make it up."""
    name = name or next(iter(settings)).replace("_", "-")
    return Lie(name, probe, Knobs(**settings), story, seen_in)  # type: ignore[arg-type]
