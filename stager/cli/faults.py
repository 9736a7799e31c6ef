"""A fault of stager's own: keep the trace in a file, tell where it is."""

from __future__ import annotations

import os
import platform
import traceback
from datetime import UTC, datetime
from pathlib import Path

from stager import __version__
from stager.cli.home import home_path
from stager.errors import StagerError


class Fault(StagerError):
    """An exception nobody expected; ``trace`` is the file that tells more."""


def fault(error: BaseException, *, host_state: str) -> Fault:
    """Return the error to show for an unexpected exception; its trace is written to ``$STAGER_HOME/faults``."""
    trace = "".join(traceback.format_exception(error))
    try:
        where = str(_write(trace))
        told = f"The trace is in {where}."
    except OSError as refusal:
        where = ""
        told = f"The trace could not be written ({refusal}):\n{trace}"
    name = type(error).__name__
    return Fault(f"stager met a fault of its own: {name}: {error}. {told}", host_state=host_state, trace=where)


def _write(trace: str) -> Path:
    folder = home_path() / "faults"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    path = folder / f"{moment}-{os.getpid()}.txt"
    facts = f"stager {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n"
    path.touch(mode=0o600)
    path.write_text(facts + trace, encoding="utf-8")
    return path
