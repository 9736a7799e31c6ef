"""The gate's answer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from stager.models.base import Model
from stager.models.evidence import Sha256, Text, Verdict


class Used(Model):
    """One document the answer rests on."""

    probe: Text
    claim: Text
    attempt: int
    run_id: Text
    verdict: Verdict
    sample_count: int
    ended_at: datetime
    sha256: Sha256
    signed_by: tuple[Text, ...] = ()


class GateAnswer(Model):
    """May this build be promoted? ``reasons`` holds every reason against; ``notes`` what was seen and tolerated."""

    build_id: Text
    verdict: Literal["promote", "refuse"]
    reasons: tuple[Text, ...]
    evidence_used: tuple[Used, ...]
    missing: tuple[Text, ...]
    notes: tuple[Text, ...] = ()
    policy: Text
    policy_sha256: Sha256
    suite_digest: Sha256
    judged_at: datetime
