"""How digests, ages and spans of time are written in sentences and tables."""

from __future__ import annotations

from datetime import datetime


def short(digest: str) -> str:
    """Return the first twelve characters of a digest, as people compare them."""
    return f"{digest[:12]}…" if len(digest) > 12 else digest


def span(seconds: float) -> str:
    """Return a length of time in its two largest units, e.g. ``3 d 4 h``."""
    rest = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts[:2]) or "0 s"


def ago(then: datetime, now: datetime) -> str:
    """Return how long ago something was."""
    return f"{span((now - then).total_seconds())} ago"
