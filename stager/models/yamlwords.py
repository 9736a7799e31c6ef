"""What a bare word in YAML means: the YAML 1.2 core rules, and the words nobody should rely on.

YAML 1.1 readers take ``on``, ``yes``, ``22:30`` and ``0644`` for something else than 1.2 readers do. These are refused
unless quoted, because whoever wrote them may have meant either.
"""

from __future__ import annotations

import math
import re

#: The hint of every complaint about such a word.
DISAGREE = "YAML readers disagree about this word"

_NULL = re.compile(r"|~|null|Null|NULL")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_TRAPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i:yes|on)"), 'true, or "{0}" in quotes'),
    (re.compile(r"(?i:no|off)"), 'false, or "{0}" in quotes'),
    (re.compile(r"[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"), 'a time or ratio in quotes: "{0}"'),
    (re.compile(r"[-+]?0[0-7_]+"), 'an octal number in quotes: "{0}", or a number without leading zeros'),
    (re.compile(r"[-+]?0[0-9_]+"), 'text in quotes: "{0}", or a number without leading zeros'),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+"), 'a decimal number, or "{0}" in quotes'),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?"), 'a number without underscores, or "{0}" in quotes'),
    (re.compile(r"[-+]?\.(?i:inf|nan)"), 'a finite number, or "{0}" in quotes'),
)


def meaning(word: str) -> bool | int | float | str | None:
    """Return the value of a bare word: null, boolean, decimal number, or the text itself."""
    if _NULL.fullmatch(word):
        return None
    if _BOOL.fullmatch(word):
        return word.lower() == "true"
    if _INT.fullmatch(word) and len(word) < 20:
        return int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    return word


def trap(word: str) -> str:
    """Return what to write instead of a word that readers of YAML disagree about; empty for any other."""
    return next((advice.format(word) for pattern, advice in _TRAPS if pattern.fullmatch(word)), "")
