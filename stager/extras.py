"""How what only some users install is installed, into the very environment that stager runs in."""

from __future__ import annotations

import shlex
import sys


def install_command(*words: str) -> str:
    """Return the command that installs something beside this stager, a wheel's or a clone's alike.

    In a clone too pip takes ``stager[fleet]`` for the stager that is installed there, and brings what it lacks only.
    """
    return shlex.join([sys.executable or "python3", "-m", "pip", "install", *words])
