"""Where the controller keeps its state: evidence, copies of journals, reports, traces."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from stager.errors import UsageError


def stager_home() -> Path:
    """Return where state is kept, once it is known that it can be read there; nothing is created.

    Raises:
        UsageError: a file has that name, or its folder may not be read.
    """
    home = home_path()
    try:
        if not stat.S_ISDIR(home.stat().st_mode):
            why = "it is not a folder"
        elif not os.access(home, os.R_OK | os.X_OK):
            why = "it may not be read"
        else:
            return home
    except FileNotFoundError:
        return home
    except OSError as error:
        why = error.strerror or str(error)
    raise UsageError(
        f"{home}, where stager keeps its state (STAGER_HOME), cannot be used: {why}.",
        next=f"ls -ld {shlex.quote(str(home))}",
    )


def home_path() -> Path:
    """Return ``$STAGER_HOME``, or the ``stager`` folder in the XDG state folder."""
    own = os.environ.get("STAGER_HOME", "")
    if own:
        return Path(own).expanduser().absolute()
    # The XDG base directory specification tells programs to ignore relative paths.
    shared = os.environ.get("XDG_STATE_HOME", "")
    base = Path(shared) if shared.startswith("/") else Path.home() / ".local" / "state"
    return base / "stager"
