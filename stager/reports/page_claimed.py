"""The page's part on the source: what an attached audit claims, apart from everything that was measured."""

from __future__ import annotations

from stager.models.claimed import AttachedAudit
from stager.reports.claimed_text import HEADING, said
from stager.reports.markup import Html, table, tag


def claimed_section(audit: AttachedAudit) -> Html:
    """Return one audit's claims in a table that stays closed until it is asked for."""
    rows = [
        tag(
            "tr",
            tag("th", claim.name, tag("small", f" {claim.what}"), scope="row"),
            tag("td", claim.endpoint, tag("br") if claim.endpoint else None, tag("code", claim.where)),
            tag("td", said(claim)),
        )
        for claim in audit.claims
    ]
    origin = f"{', '.join(audit.paths)}, read {audit.read_at:%Y-%m-%d %H:%M} UTC"
    return tag(
        "section",
        tag("h2", HEADING.capitalize()),
        tag("p", f"Claims, never evidence; no gate reads them. Not known: {audit.not_known}.", class_="quiet"),
        tag(
            "details",
            tag("summary", f"{len(rows)} claims of {origin}"),
            table(tag("tbody", *rows)) if rows else tag("p", "The audit found nothing to claim."),
        ),
    )
