"""Where the controller keeps its state: evidence, copies of journals, reports, traces."""

from __future__ import annotations

import os
from pathlib import Path


def stager_home() -> Path:
    """Return ``$STAGER_HOME``, or the ``stager`` folder in the XDG state folder; nothing is created."""
    own = os.environ.get("STAGER_HOME", "")
    if own:
        return Path(own).expanduser().absolute()
    # The XDG base directory specification tells programs to ignore relative paths.
    shared = os.environ.get("XDG_STATE_HOME", "")
    base = Path(shared) if shared.startswith("/") else Path.home() / ".local" / "state"
    return base / "stager"
