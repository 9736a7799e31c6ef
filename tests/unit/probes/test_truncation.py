"""What was sent must be read: at the head, in the middle, at the tail, and never silently less."""

import pytest

from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.target import Claims
from tests.unit.probes.bench import finding


def test_the_honest_engine_reads_all_and_refuses_more() -> None:
    """All three places are told, the counts agree, and a prompt beyond the window is refused aloud."""
    found = finding("truncation")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["beyond_window"].value == "refused"
    assert all(found.measurements[f"{place}_told"].value for place in ("head", "middle", "tail"))


@pytest.mark.parametrize("place", ["head", "middle", "tail"])
def test_silent_truncation_is_found_even_if_usage_hides_it(place: str) -> None:
    """With usage counting all that was sent, the missing fact still tells where the prompt was cut."""
    found = finding("truncation", Knobs(**{f"drop_{place}_over": 1200}, usage_hides_drop=True))
    assert found.verdict is Verdict.FAILED
    assert found.measurements[f"{place}_told"].value is False or place == "tail"


def test_a_larger_window_than_claimed_is_no_lie() -> None:
    """A prompt beyond the claimed window that is really read is measured as read, and passes."""
    found = finding("truncation", claims=Claims(slots=4, context=4096))
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["beyond_window"].value == "read"


def test_cutting_only_beyond_the_window_is_found() -> None:
    """An engine that answers an over-long prompt as if all was well fails, though all that fits is read."""
    found = finding("truncation", Knobs(drop_head_over=3900), claims=Claims(slots=4, context=4096))
    assert found.verdict is Verdict.FAILED
    assert found.measurements["beyond_window"].value == "truncated in silence"


def test_without_a_claimed_window_the_limit_is_named() -> None:
    """Nothing goes beyond a window nobody claims, and not_proven says so."""
    found = finding("truncation", claims=Claims(slots=4))
    assert found.verdict is Verdict.PASSED, found.reasons
    assert any("beyond the window" in sentence for sentence in found.not_proven)
