"""The README's policy and the shipped one are what the gate reads."""

from __future__ import annotations

import re
from pathlib import Path

from stager.evidence.policies import load_policy, read_policy
from stager.probes.catalog import PROBES

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_policy_in_the_readme_loads() -> None:
    """The example is a policy, and the claims it asks for exist."""
    (text,) = [text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if text.startswith("# policy.yaml")]

    policy = read_policy(text, "policy.yaml")

    assert all(claim.claim in PROBES[claim.probe].claims for claim in policy.claims)


def test_the_shipped_policy_asks_for_claims_and_parameters_that_exist() -> None:
    """A policy that no probe can satisfy would refuse every build for ever."""
    for claim in load_policy(None).claims:
        probe = PROBES[claim.probe]
        assert claim.claim in probe.claims
        assert set(claim.parameters) <= set(probe.parameters.model_fields)
