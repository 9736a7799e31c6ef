"""What audits of its source claim about a run, for people: always under the word that it is claimed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from stager.models.claimed import AttachedAudit, SourceClaim
from stager.reports.visible import visible

#: The name under which such claims stand everywhere.
HEADING = "configured (claimed by source)"


def claim_words(claim: SourceClaim) -> str:
    """Return one claim in a line: its kind, its name, where it stands, what it says."""
    endpoint = f" of {claim.endpoint}" if claim.endpoint else ""
    return f"{claim.what} {claim.name}{endpoint} ({claim.where}): {said(claim)}"


def said(claim: SourceClaim) -> str:
    """Return what a claim says, how it was read where that is by text, and what accepts it."""
    by = " By text only." if claim.by == "text" else ""
    return f"{claim.says}{by}" + (f" Accepted: {claim.accepted}." if claim.accepted else "")


def claimed_text(audits: Sequence[AttachedAudit]) -> RenderableType:
    """Return what is claimed, one line a claim; nothing where no audit was attached."""
    return Group(*(_one(audit) for audit in audits))


def _one(audit: AttachedAudit) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for claim in audit.claims:
        grid.add_row(claim.what, visible(claim_words(claim).removeprefix(f"{claim.what} "), "italic"))
    grid.add_row("not known", visible(audit.not_known))
    heading = f"{HEADING}: {', '.join(audit.paths)}, read {audit.read_at:%Y-%m-%d %H:%M} UTC; never evidence"
    return Padding(Group(visible(heading, "bold"), Padding(grid, (0, 0, 0, 2))), (0, 0, 1, 0))
