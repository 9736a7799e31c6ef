"""Private windows, or one pool promised several times."""

import pytest

from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.target import Claims
from tests.unit.probes.bench import finding


def test_private_windows_live_side_by_side() -> None:
    """Four prompts of most of a window each are all told and all under way at once."""
    found = finding("windows")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["windows_side_by_side"].value == found.measurements["heads_told"].value == 4


def test_a_shared_pool_that_queues_is_found() -> None:
    """Prompts that must wait for each other's end refute private windows."""
    found = finding("windows", Knobs(one_pool_waits=True))
    assert found.verdict is Verdict.FAILED
    assert "side by side" in found.reasons[0]


def test_a_shared_pool_that_forgets_is_found() -> None:
    """A prompt whose head was evicted for a neighbour's fails."""
    found = finding("windows", Knobs(one_pool_evicts=True))
    assert found.verdict is Verdict.FAILED
    assert "was lost" in found.reasons[0]


@pytest.mark.parametrize("claims", [Claims(), Claims(slots=4), Claims(slots=1, context=4096)])
def test_without_several_claimed_windows_there_is_no_verdict(claims: Claims) -> None:
    """What nobody claims cannot be refuted."""
    assert finding("windows", claims=claims).verdict is Verdict.INCONCLUSIVE


def test_too_little_room_is_said() -> None:
    """Prompts that leave no room to decode while others are read cannot decide anything."""
    found = finding("windows", prompt_tokens=3950)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "tokens of room" in found.reasons[0]
