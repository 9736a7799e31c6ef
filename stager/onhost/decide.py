"""What a restore does with one unit that this run stopped: pure decisions on recorded and present states."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional

State = Dict[str, Any]
UP = ("active", "activating", "reloading", "refreshing")
#: Between two failed starts: systemd calls it activating, and nothing runs.
CRASH_LOOP = ("auto-restart", "auto-restart-queued")


class Choice(NamedTuple):
    """``start`` it, it is ``up`` as it should be, or ``leave`` it to whoever changed it; with why."""

    action: str
    why: str = ""


def is_up(state: State) -> bool:
    """Whether a unit runs or is on its way up; one that waits for its next failed start is down."""
    return state["active"] in UP and state.get("sub") not in CRASH_LOOP


def for_unit(
    now: State,
    before: State,
    left: Optional[State],
    started_by_us: bool,
    same_boot: bool,
    obeys_our_marker: bool,
) -> Choice:
    """Decide for one unit that was active before.

    Args:
        now: its state now.
        before: its state before our first change.
        left: its state right after our stop; None when the crash came before that was recorded.
        started_by_us: an intent of ours to start it stands in the journal.
        same_boot: whether ``left`` was recorded in this boot (InvocationIDs mean nothing beyond one).
        obeys_our_marker: whether it reads a marker of ours, so that what it did meanwhile is our doing.
    """
    if now["load"] in ("masked", "not-found") and not is_up(now):
        return Choice("leave", "its unit file is %s now, by another hand" % now["load"])
    invocation, ours = now.get("invocation") or "", started_by_us or obeys_our_marker
    if is_up(now):
        if ours or not same_boot:
            return Choice("up")
        if invocation and invocation == before.get("invocation"):
            return Choice("up", "was never stopped")
        if left is None and not invocation:
            return Choice("up", "was never stopped")
        return Choice("leave", "was started by another hand during the run")
    if not same_boot or ours:
        return Choice("start")
    expected = [state["invocation"] for state in (before, left) if state and state.get("invocation")]
    if invocation and expected and invocation not in expected:
        return Choice("leave", "was started and stopped again by another hand during the run")
    return Choice("start")


def verdict(not_restored: int, left: int) -> "tuple[str, int]":
    """The verdict's words and exit code."""
    if not_restored:
        return "NOT restored", 9
    if left:
        return "restored, something left", 8
    return "restored", 0
