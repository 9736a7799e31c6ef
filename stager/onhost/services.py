"""Who runs production here: one object per kind, all with look, survey, stop, start and running."""

from __future__ import annotations

from typing import Any, Dict, Protocol, Sequence

from .command import Command
from .containers import Containers
from .faults import Refused
from .supervisord import Supervisord
from .systemd import Systemd


class Services(Protocol):
    """What restore and takedown need of whatever runs production.

    ``look`` gives recorded states by name; ``survey`` adds what preflight needs; ``stop`` and ``start`` return only
    what did not obey, with why, after reading back; ``running`` is a cheap look for every second.
    """

    def look(self, names: Sequence[str]) -> Dict[str, Dict[str, Any]]:
        """Recorded states."""

    def survey(self, names: Sequence[str]) -> Dict[str, Any]:
        """States, problems, and what hangs together."""

    def stop(self, names: Sequence[str], timeout: float) -> Dict[str, str]:
        """Stop and read back."""

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Start and read back."""

    def running(self, record: Dict[str, Any]) -> bool:
        """A cheap look."""


def services_of(production: Dict[str, Any]) -> Services:
    """The object for a playbook's ``production.manager``.

    Raises:
        Refused: this program does not know the kind.
    """
    kind = production["manager"]
    if kind in ("systemd", "systemd-user"):
        return Systemd(user=kind == "systemd-user")
    if kind == "command":
        return Command([*production["services"], *production["watchdogs"]])
    if kind == "supervisord":
        return Supervisord()
    if kind in ("podman", "docker"):
        return Containers(kind)
    raise Refused("production.manager %s is not known to this version on the host" % kind)


def names_of(entries: Sequence[Any]) -> "list[str]":
    """The names of services or watchdogs, whichever way the playbook writes them."""
    return [entry["name"] if isinstance(entry, dict) else entry for entry in entries]
