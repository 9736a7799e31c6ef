"""What a verb is given: the channel it was asked over, and the run it names."""

from __future__ import annotations

from typing import Any, Dict, Protocol

from .faults import Fault
from .state import Run, find_run, runs

Args = Dict[str, Any]


class Channel(Protocol):
    """What a verb needs of the channel it was asked over."""

    state: str
    program: str

    def say(self, event: str, **fields: Any) -> None:
        """Send an event."""

    def pulse(self) -> None:
        """Raise where the verb must not go on: nobody listens any more, or the host is wanted back."""

    def take(self, run: Run, number: int) -> None:
        """Speak for a run from now on."""


def named(state: str, run_id: str) -> Run:
    """A run by its id, or an unambiguous beginning of it.

    Raises:
        Fault: there is none, or several, or it was never begun.
    """
    full = find_run(state, run_id)
    if full is None:
        raise Fault(
            "no run on this host is called %s (runs: %s)" % (run_id, ", ".join(runs(state)[-5:]) or "none"),
            next="stager status",
        )
    run = Run(state, full)
    if not run.exists():
        raise Fault(
            "run %s was never begun: its journal has no first record, and nothing is done before that one" % full,
            next="stager status",
        )
    return run
