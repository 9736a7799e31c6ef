"""The name of a run: sortable by time, and usable in unit names, file names and on a command line."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_run_id(now: datetime) -> str:
    """Return ``20261129t221530-1a2b3c``: UTC to the second, and a nonce of 24 bits."""
    return f"{now.astimezone(UTC):%Y%m%dt%H%M%S}-{secrets.token_hex(3)}"
