"""Placeholders in argv words and environment values: ``{port}``; ``{{port}}`` is the text itself.

Only a lower-case word in braces is a placeholder, so that JSON in an argument stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")


def placeholders(text: str) -> frozenset[str]:
    """Return the names of the placeholders in a text."""
    return frozenset(match[2] for match in _PLACEHOLDER.finditer(text) if match[2])


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with each placeholder replaced by its value.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[2]] if match[2] else f"{{{match[1]}}}", text)
