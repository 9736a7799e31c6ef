"""Where the controller keeps its state: evidence, copies of journals, reports, traces."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import tempfile
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
    raise unusable(home, why)


def writable_home() -> Path:
    """Return where state is kept, once something was written there: asked before a host is, not when evidence comes.

    What was written has no name and is gone at once; a folder that is not there yet is not created.

    Raises:
        UsageError: it cannot be read, or nothing can be written there.
    """
    home = stager_home()
    kept = [folder for folder in (home / "runs", home / "evidence") if folder.exists()]
    for folder in kept or [next(place for place in (home, *home.parents) if place.exists())]:
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise unusable(folder, f"nothing can be written there ({error.strerror or error})") from error
    return home


def forbidden(error: OSError) -> UsageError | None:
    """Return how to tell that the system forbids something in the folder where state is kept; None for other errors."""
    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) or not isinstance(error.filename, str):
        return None
    path = Path(error.filename)
    return unusable(path, f"{error.strerror}") if path.is_relative_to(home_path()) else None


def unusable(path: Path, why: str) -> UsageError:
    """Return the error that says why the state, or a place in it, cannot be used; next is to look at it."""
    home = home_path()
    what = f"{home}, where stager keeps its state (STAGER_HOME), cannot be used"
    where = "" if path == home else f"{path}: "
    return UsageError(f"{what}: {where}{why}.", next=f"ls -ld {shlex.quote(str(path))}")


def home_path() -> Path:
    """Return ``$STAGER_HOME``, or the ``stager`` folder in the XDG state folder."""
    own = os.environ.get("STAGER_HOME", "")
    if own:
        return Path(own).expanduser().absolute()
    # The XDG base directory specification tells programs to ignore relative paths.
    shared = os.environ.get("XDG_STATE_HOME", "")
    base = Path(shared) if shared.startswith("/") else Path.home() / ".local" / "state"
    return base / "stager"
