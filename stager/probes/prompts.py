"""Prompts that are unique from their first word on, so that no prefix cache joins two streams."""

from __future__ import annotations

import random
import secrets

_TEXT = (
    "amber anchor apple arrow autumn basin beacon birch bridge bronze canal candle cedar chalk cliff clover "
    "copper coral cotton crane delta dune ember falcon fern field flint forest garden glacier grain granite "
    "harbour hazel heather island ivory jasper lantern laurel linen maple marble meadow mill moss north ocean "
    "olive orchard otter paper pebble pine plum pond quarry quartz raven reed ridge river rose sail salt sand "
    "shell silver slate spruce stone storm summit thistle timber tower valley velvet walnut willow winter wool"
)
_WORDS = _TEXT.split()


def fresh_tag() -> str:
    """A short tag that no earlier run can have used."""
    return secrets.token_hex(4)


def unique_prompt(tag: str, stream: int, words: int) -> str:
    """A prompt for a long answer whose text differs from every other stream's from the first word on."""
    source = random.Random(f"{tag}/{stream}")
    text = " ".join(source.choice(_WORDS) for _ in range(words))
    return f"{source.choice(_WORDS)} {tag}-{stream}: {text}. Write a long story in which all of these words occur. Once"
