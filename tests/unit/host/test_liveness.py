"""When silence is death."""

from __future__ import annotations

from stager.host.liveness import Liveness


def test_silence_is_asked_about_then_fatal() -> None:
    """After ping_after seconds a question is due; without an answer the peer is dead at dead_after."""
    live = Liveness(10, 20, heard_at=100)
    assert live.verdict(109.9) == "fine"
    assert live.verdict(110) == "ask"
    live.asked(110)
    assert live.verdict(119.9) == "fine"
    assert live.next_at() == 120
    assert live.verdict(120) == "dead"


def test_anything_heard_is_a_sign_of_life() -> None:
    """Whatever arrives, the answer or not, starts the count anew."""
    live = Liveness(10, 20, heard_at=0)
    live.asked(10)
    live.heard(15)
    assert live.verdict(24) == "fine"
    assert live.next_at() == 25


def test_unwatched_time_leads_to_a_question_first() -> None:
    """An hour in which nobody looked is no death, only a reason to ask."""
    live = Liveness(10, 20, heard_at=0)
    assert live.verdict(3600) == "ask"
    live.asked(3600)
    assert live.verdict(3609) == "fine"
