"""The page's part on evidence: an overview, and for each claim its figures with all that belongs beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stager.models.evidence import Evidence, Measurement, Verdict
from stager.models.record import RunRecord
from stager.models.words import short
from stager.reports import plots
from stager.reports.figures import claim_name, ended_because, figure, label, parts
from stager.reports.headlines import headlines
from stager.reports.markup import Html, join, table, tag
from stager.reports.samples import read_samples

TONES = {
    Verdict.PASSED: "good",
    Verdict.FAILED: "bad",
    Verdict.ERROR: "odd",
    Verdict.ABORTED: "odd",
    Verdict.INCONCLUSIVE: "doubt",
}


def verdict_badge(verdict: Verdict) -> Html:
    """Return a verdict as a badge; the word carries it, the colour only helps."""
    return tag("span", str(verdict), class_=f"badge {TONES[verdict]}")


def anchor(item: Evidence) -> str:
    """Return the name of a claim's section in the page."""
    return f"{item.probe}-{item.claim}-{item.attempt}"


def overview(record: RunRecord) -> Html:
    """Return one card for each claim; empty where there is no evidence."""
    cards = [
        tag(
            "a",
            verdict_badge(item.verdict),
            tag("strong", claim_name(item)),
            tag("span", _first(item), class_="lead"),
            tag("small", f"n = {item.sample_count:,}"),
            href=f"#{anchor(item)}",
            class_=f"card {TONES[item.verdict]}",
        )
        for item in record.evidence
    ]
    if not cards:
        return tag("section", tag("h2", "Evidence"), tag("p", "No evidence was taken in this run.", class_="quiet"))
    return tag("section", tag("h2", "Claims"), tag("div", *cards, class_="cards"))


def evidence_section(item: Evidence, raw: Mapping[str, bytes], number: int) -> Html:
    """Return one claim in full."""
    return tag(
        "section",
        tag("h2", claim_name(item), " ", verdict_badge(item.verdict)),
        tag("p", f"The run is tainted: {item.tainted}", class_="warn") if item.tainted else None,
        tag("dl", *(_figure(name, found) for name, found in headlines(item).items()), class_="figures"),
        _drawings(item, raw, number),
        tag("dl", *_beside(item), class_="beside"),
        _details(item),
        id=anchor(item),
    )


def _first(item: Evidence) -> str:
    for name, found in headlines(item).items():
        return f"{label(name)} {figure(found, name)}"
    return item.reasons[0] if item.reasons else ""


def _figure(name: str, found: Measurement) -> Html:
    number, unit = parts(found, name)
    shown = tag("dd", number, tag("small", unit))
    return tag("div", tag("dt", label(name)), shown, class_="none" if found.value is None else None)


def _drawings(item: Evidence, raw: Mapping[str, bytes], number: int) -> Html | None:
    content = raw.get(item.raw.sha256)
    if content is None:
        return tag("p", "The raw samples are missing or were changed, so nothing is drawn of them.", class_="warn")
    if not plots.can_plot():
        return None
    samples = read_samples(content)
    # One experiment may serve two claims with endpoints of their own; each shows its own.
    own = tuple(series for series in samples.latencies if series.name in item.sampled)
    samples = replace(samples, latencies=own or samples.latencies)
    # `executing` is about shared steps, which only show close up; its streams as a whole are drawn above it.
    closely = plots.draw_closely(samples, f"e{number}") if item.claim == "executing" else []
    return join(tag("figure", Html(svg)) for svg in closely or plots.draw(samples, f"e{number}"))


def _beside(item: Evidence) -> list[Html]:
    """The four things without which a number is decoration."""
    not_proven = tag("ul", *(tag("li", sentence) for sentence in item.not_proven))
    parts: list[tuple[str, Html | str]] = [
        ("sampled", item.sampled),
        ("how many", f"{item.sample_count:,}"),
        ("ended because", ended_because(item)),
        ("did not prove", not_proven),
    ]
    if item.reasons:
        parts.insert(0, ("reasons", tag("ul", *(tag("li", reason) for reason in item.reasons))))
    return [tag("div", tag("dt", name), tag("dd", words)) for name, words in parts]


def _details(item: Evidence) -> Html:
    rows = [(label(name), f"{figure(found, name)}") for name, found in item.measurements.items()]
    settings = [(name, str(given)) for name, given in item.parameters.items()]
    claims = [
        (f"{it.name} ({it.endpoint})", f"{it.value}{f', {it.source}' if it.source else ''}") for it in item.configured
    ]
    vantage = item.vantage
    origin = [
        ("client", f"{vantage.client}, {vantage.path}"),
        ("path latency", _milliseconds(vantage.path_latency_ms)),
        ("client jitter", _milliseconds(vantage.client_jitter_ms)),
        ("attempt", str(item.attempt)),
        ("probe version", str(item.probe_version)),
        ("probe suite", short(item.suite_digest)),
        ("raw samples", f"{short(item.raw.sha256)} ({item.raw.file[:16]}…)"),
        ("taken", f"{item.started_at:%H:%M:%S} to {item.ended_at:%H:%M:%S} UTC"),
    ]
    return tag(
        "details",
        tag("summary", "all measurements, parameters, configured fields, vantage"),
        _table("Measured", rows),
        _table("Configured: claims of the engine, never evidence", claims),
        _table("Parameters", settings),
        _table("Vantage and origin", origin),
    )


def _milliseconds(found: float | None) -> str:
    return "not measured" if found is None else f"{found:.3g} ms"


def _table(caption: str, rows: list[tuple[str, str]]) -> Html | None:
    if not rows:
        return None
    lines = (tag("tr", tag("th", name, scope="row"), tag("td", words)) for name, words in rows)
    return table(tag("caption", caption), tag("tbody", *lines))
