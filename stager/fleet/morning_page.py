"""The morning's answer as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from stager.fleet.morning import Claim, Line, Morning
from stager.fleet.morning_text import ended, production, verdict
from stager.models.words import short
from stager.reports.figures import ended_because, figure, label
from stager.reports.headlines import headlines
from stager.reports.markup import Html, tag
from stager.reports.page import POLICY


def page(answer: Morning) -> str:
    """Return the whole page."""
    title = f"Runs from {answer.since:%Y-%m-%d %H:%M} to {answer.until:%Y-%m-%d %H:%M} UTC"
    style = files("stager.reports").joinpath("page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", title),
        tag("style", Html(style)),
    )
    parts = [tag("header", tag("p", "stager · the morning", class_="eyebrow"), tag("h1", title))]
    parts += [_section(line) for line in answer.lines]
    if answer.idle:
        rows = [(str(item.night), item.schedule, item.host, item.reason) for item in answer.idle]
        parts.append(
            tag("section", tag("h2", "Nights without a run"), _table(("night", "schedule", "host", "why"), rows))
        )
    if not answer.lines and not answer.idle:
        parts.append(tag("p", "Nothing was run, and nothing should have been."))
    return "<!doctype html>\n" + tag("html", head, tag("body", tag("main", *parts)), lang="en") + "\n"


def _section(line: Line) -> Html:
    build = f"build {short(line.build_id)}" if line.build_id else "no build was reached"
    tone = "doubt" if line.as_before is None else "good" if line.as_before else "bad"
    parts = [
        tag("h2", f"{line.host}: {', '.join(line.playbooks)}, {build}"),
        tag("p", tag("span", f"production {production(line)}", class_=f"badge {tone}"), class_="badges"),
        tag("p", "; ".join(f"run {run.run_id}: {ended(run.exit_code)}" for run in line.runs)),
    ]
    if line.claims:
        columns = ("claim", "verdict", "measured", "sampled", "n", "ended because", "did not prove")
        parts.append(_table(columns, [_claim(claim) for claim in (*line.not_shown, *line.shown)]))
    else:
        parts.append(tag("p", "Nothing was looked at."))
    if line.left:
        rows = [(left.what, left.path, left.why) for left in line.left]
        parts += [tag("h3", "Left for a person"), _table(("what", "where", "why"), rows)]
    return tag("section", *parts)


def _claim(claim: Claim) -> tuple[str, ...]:
    newest = claim.newest
    reasons = "" if claim.shown else ": " + "; ".join(newest.reasons)
    return (
        claim.name,
        verdict(claim) + reasons,
        "; ".join(f"{label(name)} {figure(found)}" for name, found in headlines(newest).items()),
        newest.sampled,
        str(newest.sample_count),
        ended_because(newest),
        "; ".join(newest.not_proven),
    )


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Html:
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in columns)))
    return tag("div", tag("table", head, tag("tbody", *body)), class_="wide")
