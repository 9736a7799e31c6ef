"""Cleaning up: ask the host for its one restore, follow it to the verdict, keep what the run leaves to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stager.errors import LeftForPerson, NotRestored, StagerError
from stager.models.base import digest
from stager.models.record import Cleanup, Left
from stager.staging.session import Session


@dataclass(frozen=True)
class Ended:
    """How a run ended on the host: the verdict's words and code, and what a report shows of it."""

    run_id: str
    words: str
    code: int
    cleanup: Cleanup
    trouble: tuple[str, ...] = ()
    units: tuple[Mapping[str, Any], ...] = ()

    def error(self, address: str) -> StagerError | None:
        """Return the error that says it; None when everything is as before."""
        if self.code == 9:
            held = self.words == "held"
            said = "; ".join(self.trouble) or self.words
            state = (
                "production stays down until the foreign marker is gone; the guard stays armed"
                if held
                else "production is NOT as it was"
            )
            return NotRestored(f"Run {self.run_id}: {said}.", host_state=state, next=f"stager status {address}")
        if self.code == 8:
            left = "; ".join(f"{entry.path or entry.what} {entry.why}" for entry in self.cleanup.left)
            return LeftForPerson(
                f"Run {self.run_id}: production is back; left for you: {left}.", next=f"stager show {self.run_id}"
            )
        return None


def ended_from(run_id: str, verdict: Mapping[str, Any]) -> Ended:
    """Read a verdict record of the host's journal."""
    if verdict["step"] == "held":
        foreign = verdict["foreign"]
        left = tuple(Left(what="foreign marker", path=entry["path"], why=entry["why"]) for entry in foreign)
        paths = ", ".join(f"{entry['path']} (since {entry['since']})" for entry in foreign)
        cleanup = Cleanup(
            candidate_stopped=True,
            restored=(),
            left=left,
            markers_cleared=(),
            production_as_before=False,
            downtime_seconds=None,
        )
        return Ended(run_id, "held", 9, cleanup, (f"foreign marker {paths} holds production down (on_foreign: hold)",))
    cleanup = Cleanup(
        candidate_stopped=verdict["candidate_stopped"],
        restored=tuple(verdict["restored"]),
        left=tuple(Left(what=entry["what"], path=entry.get("path", ""), why=entry["why"]) for entry in verdict["left"]),
        markers_cleared=tuple(verdict["markers_cleared"]),
        production_as_before=verdict["production_as_before"],
        downtime_seconds=verdict["downtime_seconds"],
    )
    return Ended(
        run_id, verdict["step"], int(verdict["code"]), cleanup, tuple(verdict["trouble"]), tuple(verdict["units"])
    )


def restore(session: Session, run_id: str, reason: str) -> Ended:
    """Ask for the restore and wait for its verdict.

    Raises:
        ConnectionLost: the link broke; the guard finishes it.
    """
    return ended_from(run_id, session.call("restore", "restore", run_id=run_id, reason=reason))


@dataclass(frozen=True)
class Kept:
    """What the controller keeps of a run: the host's journal, the end of the output, the tree's digest at the end."""

    journal: str
    output: str
    chain_is_whole: bool
    manifest_sha256: str | None


def collect(session: Session, run_id: str) -> Kept:
    """Fetch it."""
    told = session.call("collect", "collect", run_id=run_id)
    manifest = told["manifest"]
    return Kept(told["journal"], told["output"], told["chain_is_whole"], digest(manifest) if manifest else None)
