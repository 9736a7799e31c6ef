"""When to ask a silent peer whether it lives, and when to give it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass
class Liveness:
    """Counts silence.

    A peer that has nothing to say is silent too, so it is asked after ``ping_after`` seconds without a byte;
    only a question that stays open until ``dead_after`` seconds of silence makes it dead. Time in which nobody
    watched counts for nothing: without a question there is no missing answer.
    """

    ping_after: float
    dead_after: float
    heard_at: float
    asked_at: float | None = None

    def heard(self, now: float) -> None:
        """Something arrived."""
        self.heard_at = now
        self.asked_at = None

    def asked(self, now: float) -> None:
        """A question was sent."""
        self.asked_at = now

    def verdict(self, now: float) -> Literal["fine", "ask", "dead"]:
        """Return what is to be done now."""
        if self.asked_at is not None:
            return "dead" if now - self.asked_at >= self.dead_after - self.ping_after else "fine"
        return "ask" if now - self.heard_at >= self.ping_after else "fine"

    def next_at(self) -> float:
        """Return the time of the next verdict other than fine."""
        if self.asked_at is not None:
            return self.asked_at + self.dead_after - self.ping_after
        return self.heard_at + self.ping_after
