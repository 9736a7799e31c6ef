"""What production's own port must show before a switch is confirmed."""

from __future__ import annotations

import pytest

from stager.models.evidence import Verdict
from stager.promotion.shortfall import shortfall
from tests.unit.evidence.cases import evidence, policy


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.PASSED])
def test_a_required_claim_forbids_by_anything_but_a_pass(verdict: Verdict) -> None:
    """Failed, inconclusive, error, aborted: each is named with its reason."""
    assert shortfall([evidence(verdict=verdict)], policy()) == [
        f"overlap/generating {verdict}: two of four streams waited"
    ]


def test_a_claim_that_the_policy_does_not_ask_for_forbids_only_by_failing() -> None:
    """What could not be decided there decides nothing; what was refuted does."""
    undecided = evidence(claim="executing", verdict="inconclusive")
    refuted = evidence(claim="executing", verdict="failed")

    assert shortfall([evidence(), undecided], policy()) == []
    assert len(shortfall([evidence(), refuted], policy())) == 1
