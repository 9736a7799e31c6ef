"""Facts hidden in filler text, each with a carrier sentence of its own, and the question that asks for it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

#: Carrier and question. Each has a shape of its own, so that even a small model can tell the facts apart: with one
#: shape for all, SmolLM2-135M mixed them up in 5 of 9 questions; the first three it told in 12 of 13.
_CARRIERS = (
    ("The harbour code is {}.", "What is the harbour code?"),
    ("The telephone number of the hotel is {}.", "What is the telephone number of the hotel?"),
    ("The safe in the cellar opens with {}.", "What does the safe in the cellar open with?"),
    ("The secret password of Captain Wells is {}.", "What is the secret password of Captain Wells?"),
    ("Platform {} belongs to the express to Vienna.", "Which platform belongs to the express to Vienna?"),
    ("The telescope weighs {} grams.", "What does the telescope weigh?"),
)
ABSENT_QUESTION = "What is the password of the bell tower?"
MOST = len(_CARRIERS)


@dataclass(frozen=True, slots=True)
class Needle:
    """One fact: where it is hidden (0 head, 1 tail), its secret, its sentence and its question."""

    depth: float
    secret: str
    sentence: str
    question: str


def pick_needles(rng: random.Random, depths: Sequence[float]) -> list[Needle]:
    """Return one needle with a random five-digit secret for each depth.

    Raises:
        ValueError: more depths than there are carriers.
    """
    if len(depths) > MOST:
        raise ValueError(f"at most {MOST} depths")
    secrets = rng.sample(range(10_000, 99_999), len(depths))
    return [
        Needle(depth, str(secret), carrier.format(secret), question)
        for depth, secret, (carrier, question) in zip(depths, secrets, _CARRIERS, strict=False)
    ]


def hide(filler: Sequence[str], needles: Sequence[Needle]) -> str:
    """Return the filler text with each needle's sentence at its depth."""
    places = {id(needle): round(needle.depth * len(filler)) for needle in needles}
    parts: list[str] = []
    for at in range(len(filler) + 1):
        parts += [needle.sentence for needle in needles if places[id(needle)] == at]
        parts += filler[at : at + 1]
    return " ".join(parts)
