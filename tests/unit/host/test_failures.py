"""What a broken channel means."""

from __future__ import annotations

from stager.errors import ConnectionLost, Refused, Unreachable
from stager.host import failures


def test_before_the_first_change_it_is_unreachable() -> None:
    """Without a fence number nothing was changed: exit 10, and it says so."""
    error = failures.broken("gpu1", "it ended", fence=None, restore_by="03:00", on_host="restore")
    assert type(error) is Unreachable
    assert "Nothing had been changed" in error.message


def test_after_it_the_guard_restores() -> None:
    """With a fence number it is exit 9, with the time the guard restores by and the command to type there."""
    error = failures.broken("gpu1", "it ended", fence=4, restore_by="03:00", on_host="sudo restore")
    assert type(error) is ConnectionLost
    assert "by 03:00" in error.message
    assert error.next == "sudo restore"
    assert "the guard there restores production by 03:00" in error.host_state


def test_an_answer_may_not_break_our_errors() -> None:
    """Whatever keys an error answer holds, it becomes an error of ours."""
    said = {"kind": "refused", "message": "m", "details": {"message": "x", "reasons": ["y"], "next": 1}, "trace": "t"}
    error = failures.from_answer(said)
    assert type(error) is Refused
    assert error.reasons == ("m",)
    assert error.details["trace"] == "t"
    assert failures.from_answer({}).message


def test_a_reason_that_is_a_sentence_ends_once() -> None:
    """What the transport says may end with a full stop of its own."""
    error = failures.broken("h", "It is gone.", fence=3, restore_by=None, on_host="x")
    assert ".." not in error.message
