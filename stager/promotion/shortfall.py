"""What production's own port did not show: pure, from evidence and policy."""

from __future__ import annotations

from collections.abc import Iterable

from stager.models.evidence import Evidence, Verdict
from stager.models.policy import Policy


def shortfall(evidence: Iterable[Evidence], policy: Policy) -> list[str]:
    """Return a sentence for each claim that forbids the switch.

    One that failed always does; one that could not be decided only if the policy requires it.
    """
    required = {claim.name for claim in policy.claims}
    return [
        f"{item.probe}/{item.claim} {item.verdict}: {item.reasons[0]}"
        for item in evidence
        if item.verdict is Verdict.FAILED
        or (item.verdict is not Verdict.PASSED and f"{item.probe}/{item.claim}" in required)
    ]
