"""What to type next where an error does not say so itself: by what went wrong, and by the command that was typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from stager.errors import (
    CandidateFailed,
    GateRefused,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotRestored,
    NotShown,
    Refused,
    StagerError,
    Stopped,
    Unreachable,
    UsageError,
)

#: Commands whose refusals are not about a host's readiness, and what shows why they refuse.
_LISTINGS = {"schedule": "stager schedule list", "fleet": "stager fleet status"}
#: Options whose value is the host or playbook in question; a YAML file behind any other option is not.
_HOSTS = ("--host", "--playbook")


def next_step(error: StagerError, typed: Sequence[str]) -> str:
    """Return a command that helps with an error.

    Args:
        error: what went wrong.
        typed: the words behind ``stager``.
    """
    command = next((word for word in typed if not word.startswith("-")), "")
    host = _host(typed)
    again = shlex.join(["stager", *typed])
    match error:
        case UsageError():
            return f"stager {command} --help" if command else "stager --help"
        case InvalidFile():
            return again
        case Refused() if command in _LISTINGS:
            return _LISTINGS[command]
        case Refused() | Unreachable() if host and command != "doctor":
            return f"stager {'doctor' if _is_playbook(shlex.split(host)[0]) else 'status'} {host}"
        case Refused() | Unreachable():
            return again
        case CandidateFailed():
            return "stager runs"
        case NotShown() | GateRefused():
            return "stager evidence list"
        case LeftForPerson() | NotRestored() | HostHeld() | Stopped():
            return f"stager status {host}".rstrip()
        case _:
            return f"{again} -v" if command else "stager --help"


def _is_playbook(word: str) -> bool:
    return word.endswith((".yaml", ".yml"))


def _host(typed: Sequence[str]) -> str:
    """Return the playbook or address among the words, quoted; empty where there is none."""
    for before, word in zip(["", *typed], typed, strict=False):
        name, equals, value = word.partition("=")
        if equals and name in _HOSTS:
            return shlex.quote(value)
        if before in _HOSTS or (_is_playbook(word) and not word.startswith("-") and before[:1] != "-"):
            return shlex.quote(word)
    return ""
