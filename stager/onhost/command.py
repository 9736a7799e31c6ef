"""Production run by commands of the playbook's: ``start``, ``stop`` and ``status`` (0 runs, 3 does not)."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from . import processes, turned
from .turned import State

RUNS, DOES_NOT = 0, 3


class Command(turned.Turned):
    """Services that know no more than how to be started, stopped and asked."""

    heard = False

    def __init__(self, entries: Sequence[Dict[str, Any]]) -> None:
        super().__init__()
        self.entries = {entry["name"]: entry for entry in entries}

    def state(self, name: str) -> State:
        """Ask the status command; one that ends with neither 0 nor 3 has given no state."""
        ran = processes.run(self.entries[name]["status"], timeout=20)
        active = {RUNS: "active", DOES_NOT: "inactive"}.get(-1 if ran.code is None else ran.code, "unknown")
        return turned.state(active, words=ran.words())

    def argv(self, verb: str, name: str) -> List[str]:
        """The playbook's own command."""
        return list(self.entries[name][verb])

    def complaints(self, name: str, now: State) -> List[str]:
        """A status that is none, and commands that are not there."""
        if now["active"] == "unknown":
            return ["status of %s answers neither 0 (runs) nor 3 (does not): %s" % (name, now["words"])]
        missing = [verb for verb in ("start", "stop") if not processes.found(self.entries[name][verb][0])]
        return ["%s of %s is not there: %s" % (verb, name, self.entries[name][verb][0]) for verb in missing]
