"""How a person says since when: a time, or so long ago."""

from __future__ import annotations

from datetime import datetime, timedelta

from stager.errors import UsageError
from stager.models.quantities import parse_duration


def read_since(text: str, now: datetime) -> datetime:
    """Return the moment that ``2026-11-29T18:00`` (local), ``2026-11-29`` or ``14h`` means.

    Raises:
        UsageError: it means none.
    """
    try:
        return now - timedelta(seconds=parse_duration(text))
    except ValueError:
        pass  # not so long ago: a time, then
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise UsageError(
            f"--since {text}: expected a time such as 2026-11-29T18:00, or a duration such as 14h."
        ) from None
