"""Asking the gate about a build: read the store anew, see who signed what, judge."""

from __future__ import annotations

from datetime import datetime

from stager.evidence.attest import Rejected, with_signers
from stager.evidence.gate import judge
from stager.evidence.store import Store
from stager.models.answer import GateAnswer
from stager.models.policy import Policy


def ask_gate(
    store: Store, build_id: str, policy: Policy, *, suite: str, now: datetime, incumbent: str | None = None
) -> tuple[GateAnswer, list[Rejected]]:
    """Return the gate's answer, and the signed statements that were not counted.

    Args:
        store: where the evidence is; every document is checked on reading.
        build_id: the build in question, in full.
        policy: what must have been shown.
        suite: the digest of the probe suite in use now.
        now: an aware time.
        incumbent: the build in production now; None where it is not known.

    Raises:
        UsageError: the policy wants signatures, and what checks them is not installed.
    """
    exhibits, troubles = store.search()
    rejected: list[Rejected] = []
    if policy.signers:
        exhibits, rejected = with_signers(exhibits, store.root / build_id, policy.signers, now)
    answer = judge(build_id, exhibits, policy, suite=suite, now=now, incumbent=incumbent, troubles=troubles)
    return answer, rejected
