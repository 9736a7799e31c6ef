"""Prompts that repeat one word of their own: what follows is that word, and any other word is somebody else's."""

from __future__ import annotations

import random
import re

_BIRDS = ("KESTREL", "HERON", "PLOVER", "CURLEW", "OSPREY", "DUNLIN", "LINNET", "MARTIN", "PIPIT", "WAGTAIL", "AVOCET")
_CANARY = re.compile(r"[A-Z]{3,}-\d{4}")

#: Lines in a prompt. At 5 to 9 tokens a line this is well above the 220 tokens below which leaks hid
#: (minefield trap 91: none at 108-136 tokens).
LINES = 50


def pick_canaries(rng: random.Random, count: int) -> list[str]:
    """Return words that differ in their four digits, so that even a part of one tells whose it is."""
    numbers = rng.sample(range(1000, 9999), count)
    return [f"{_BIRDS[i % len(_BIRDS)]}-{number}" for i, number in enumerate(numbers)]


def canary_prompt(canary: str, lines: int = LINES) -> str:
    """Return a list of one word; a model that goes on with it says the word again and again."""
    return f"{canary}\n" * lines


def strangers(text: str, own: str, all_canaries: set[str]) -> set[str]:
    """Return other streams' words that are in a text, whole or by their number."""
    numbers = {canary.partition("-")[2]: canary for canary in all_canaries if canary != own}
    whole = {word for word in _CANARY.findall(text) if word in all_canaries and word != own}
    return whole | {canary for number, canary in numbers.items() if number in re.findall(r"\d+", text)}
