"""Looking ahead without changing anything, by the same facts, checks and steps as a run: what doctor and plan show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stager.loading import LoadedPlaybook
from stager.staging.model_fit import ModelFit, model_fit
from stager.staging.plan import PlannedStep, plan_steps, undo_order
from stager.staging.preflight import refusals, warnings
from stager.staging.session import open_session
from stager.staging.stage import Staging


@dataclass(frozen=True)
class Foresight:
    """What a run would meet and do on its host, as of now."""

    address: str
    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    steps: tuple[PlannedStep, ...]
    undo: tuple[str, ...]
    fit: ModelFit | None = None

    @property
    def holder(self) -> Mapping[str, Any] | None:
        """Who holds the host now; None when it is free."""
        holder: Mapping[str, Any] | None = self.facts["holder"]
        return holder

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "host": self.address,
            "ready": not self.reasons and self.holder is None,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "holder": self.holder,
            "guard_legs": {leg: {"holds": not why, "why": why} for leg, why in self.facts["legs"].items()},
            "steps": [vars(step) for step in self.steps],
            "undo": list(self.undo),
            "context": self.fit.document() if self.fit else None,
            "facts": dict(self.facts),
        }


def foresee(loaded: LoadedPlaybook) -> Foresight:
    """Look at a host as a run would see it; nothing there is changed.

    Raises:
        Unreachable, Refused: no connection, or no usable Python there.
    """
    with open_session(loaded.playbook.host) as session:
        staging = Staging(loaded, session, datetime.now(UTC))
        facts = session.call("look", "facts", spec=staging.spec)
        fit = model_fit(session, loaded.playbook.candidate, facts)
    whole = bool(facts.get("candidate", {}).get("tree_whole", True))
    return Foresight(
        address=loaded.playbook.host.address,
        spec=staging.spec,
        facts=facts,
        reasons=(*refusals(staging.spec, facts), *(fit.reasons if isinstance(fit, ModelFit) else ())),
        warnings=(*warnings(staging.spec, facts), *([fit] if isinstance(fit, str) else [])),
        steps=tuple(plan_steps(staging.spec, tree_whole=whole)),
        undo=tuple(undo_order(staging.spec)),
        fit=fit if isinstance(fit, ModelFit) else None,
    )
