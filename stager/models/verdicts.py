"""Several verdicts read as one, by a fixed precedence: Failed > Error > Aborted > Inconclusive > Passed."""

from __future__ import annotations

from collections.abc import Iterable

from stager.models.evidence import PRECEDENCE, Verdict


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of the whole: the first of the precedence that occurs; nothing at all is inconclusive."""
    present = set(verdicts)
    return next((verdict for verdict in PRECEDENCE if verdict in present), Verdict.INCONCLUSIVE)
