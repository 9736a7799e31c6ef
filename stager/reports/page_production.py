"""The page's part that shows production, measured the same way, beside the candidate."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from stager.models.record import RunRecord
from stager.reports import plots
from stager.reports.figures import label
from stager.reports.headlines import HEADLINES
from stager.reports.markup import Html, join, table, tag
from stager.reports.samples import Samples, read_samples
from stager.reports.side import production_beside_candidate

_ALWAYS = {"verdict", "n", "ended because"}


def production_section(record: RunRecord, raw: Mapping[str, bytes]) -> Html:
    """Return both on one time axis and figure by figure; empty where production was not measured."""
    if not record.baseline:
        return Html()
    comparison = production_beside_candidate(record)
    shown = {claim: _ALWAYS | {label(name) for name in HEADLINES.get(claim, ())} for claim in HEADLINES}
    lines: list[Html] = []
    for claim, rows in groupby(comparison.rows, key=lambda row: row.claim):
        lines.append(tag("tr", tag("th", claim, colspan="4", scope="rowgroup"), class_="group"))
        for row in rows:
            if claim in shown and row.what not in shown[claim]:
                continue
            cells = (tag("td", text) for text in (row.left, row.right, row.change))
            lines.append(tag("tr", tag("th", row.what, scope="row"), *cells))
    titles = ("", comparison.left, comparison.right, "change")
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    return tag(
        "section",
        tag("h2", "Production beside the candidate"),
        tag("p", "The same requests, counted in the same way, on the engine that was there before.", class_="quiet"),
        _drawings(record, raw),
        table(tag("thead", head), tag("tbody", *lines), class_="side"),
    )


def _drawings(record: RunRecord, raw: Mapping[str, bytes]) -> Html | None:
    if not plots.can_plot():
        return None
    pairs = list(_pairs(record, raw))
    longest = max((samples.length for _, samples in pairs), default=0.0)
    figures = []
    for number, (words, samples) in enumerate(pairs):
        for svg in plots.draw(samples, f"p{number}", longest or None)[:1]:
            figures.append(tag("figure", tag("figcaption", words), Html(svg)))
    return join(figures) if figures else None


def _pairs(record: RunRecord, raw: Mapping[str, bytes]) -> list[tuple[str, Samples]]:
    """The first experiment that both went through, production first; nothing if one of the two was not kept."""
    for item in record.baseline:
        if item.raw is None or item.raw.sha256 not in raw:
            continue
        for evidence in record.evidence:
            if (evidence.probe, evidence.claim) == (item.probe, item.finding.claim) and evidence.raw.sha256 in raw:
                return [
                    (f"production: {item.service}", read_samples(raw[item.raw.sha256])),
                    ("candidate", read_samples(raw[evidence.raw.sha256])),
                ]
    return []
