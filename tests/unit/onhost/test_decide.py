"""What a restore does with one unit: somebody else's change wins, our own never counts as somebody else's."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stager.onhost import decide

UP = decide.UP
BEFORE = {"load": "loaded", "active": "active", "invocation": "b"}
LEFT = {"load": "loaded", "active": "inactive", "invocation": "b"}


def choose(now: dict[str, Any], left: dict[str, Any] | None = LEFT, **how: bool) -> str:
    """The action for a unit that was active before."""
    options = {"started_by_us": False, "same_boot": True, "obeys_our_marker": False} | how
    return decide.for_unit({"load": "loaded"} | now, BEFORE, left, **options).action


def test_what_we_stopped_is_started() -> None:
    """Down with the InvocationID we left it with: ours to start."""
    assert choose({"active": "inactive", "invocation": "b"}) == "start"
    assert choose({"active": "failed", "invocation": "b"}) == "start"
    assert choose({"active": "inactive", "invocation": ""}) == "start"


def test_what_was_never_stopped_is_up() -> None:
    """The crash came between the intent and the act."""
    assert choose({"active": "active", "invocation": "b"}, left=None) == "up"


def test_another_hands_start_is_left() -> None:
    """Up with an InvocationID nobody of ours knows."""
    assert choose({"active": "active", "invocation": "x"}) == "leave"
    assert choose({"active": "activating", "invocation": "x"}) == "leave"


def test_another_hands_start_and_stop_is_left() -> None:
    """Down, but it has run in between."""
    assert choose({"active": "inactive", "invocation": "x"}) == "leave"


def test_our_own_start_is_no_other_hand() -> None:
    """A start of ours that died before its record: the new InvocationID is our doing, up or down."""
    assert choose({"active": "active", "invocation": "x"}, started_by_us=True) == "up"
    assert choose({"active": "failed", "invocation": "x"}, started_by_us=True) == "start"


def test_what_obeys_our_marker_is_our_doing() -> None:
    """A unit that reads the marker may have stopped and started because of it."""
    assert choose({"active": "active", "invocation": "x"}, obeys_our_marker=True) == "up"
    assert choose({"active": "inactive", "invocation": "x"}, obeys_our_marker=True) == "start"


def test_after_a_reboot_invocations_say_nothing() -> None:
    """What is active stays; what was recorded active and is not is started."""
    assert choose({"active": "active", "invocation": "x"}, same_boot=False) == "up"
    assert choose({"active": "inactive", "invocation": "x"}, same_boot=False) == "start"
    assert choose({"active": "inactive", "invocation": ""}, same_boot=False) == "start"


def test_a_masked_or_vanished_unit_is_left() -> None:
    """Somebody masked it or removed its file during the run: never unmasked by us."""
    for load in ("masked", "not-found"):
        assert choose({"load": load, "active": "inactive", "invocation": "b"}) == "leave"


STATES = st.fixed_dictionaries(
    {
        "load": st.sampled_from(["loaded", "masked", "not-found"]),
        "active": st.sampled_from(["active", "activating", "reloading", "inactive", "failed", "deactivating"]),
        "invocation": st.sampled_from(["", "b", "l", "x"]),
    }
)


@given(STATES, st.none() | STATES, st.booleans(), st.booleans(), st.booleans())
def test_nothing_that_runs_is_ever_started_again(
    now: dict[str, str], left: dict[str, str] | None, ours: bool, same_boot: bool, obeys: bool
) -> None:
    """Whatever the history, a start is chosen only for what is down, and what is left has a reason."""
    choice = decide.for_unit(now, BEFORE, left, ours, same_boot, obeys)
    assert choice.action in ("start", "up", "leave")
    if choice.action == "start":
        assert now["active"] not in UP
        assert now["load"] == "loaded"
    if choice.action == "up":
        assert now["active"] in UP
    if choice.action == "leave":
        assert choice.why


@given(st.integers(0, 3), st.integers(0, 3))
def test_the_verdict(not_restored: int, left: int) -> None:
    """Not restored outranks something left, which outranks restored."""
    words, code = decide.verdict(not_restored, left)
    assert code == (9 if not_restored else 8 if left else 0)
    assert (words == "restored") == (code == 0)
