"""The report of one run: one HTML page that loads nothing and runs nothing, for light, dark and print."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from stager.models.record import RunRecord
from stager.models.words import short
from stager.reports import plots
from stager.reports.figures import seconds
from stager.reports.markup import Html, join, tag
from stager.reports.page_claimed import claimed_section
from stager.reports.page_evidence import evidence_section, overview
from stager.reports.page_host import cleanup_section, gate_section, origin_section, steps_section
from stager.reports.page_production import production_section

#: Nothing may be loaded or run, whatever a server's words hold.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def report_page(record: RunRecord, raw: Mapping[str, bytes]) -> str:
    """Return the whole page.

    Args:
        record: the run.
        raw: raw samples, unpacked, by the digest in their evidence; what is not there is not drawn.
    """
    title = f"{record.playbook} on {record.host.address}: run {record.run_id}"
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
    body = tag("body", tag("main", *_parts(record, raw)))
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def _parts(record: RunRecord, raw: Mapping[str, bytes]) -> list[Html]:
    parts = [_header(record), overview(record), gate_section(record), production_section(record, raw)]
    parts += [evidence_section(item, raw, number) for number, item in enumerate(record.evidence)]
    parts += [claimed_section(audit) for audit in record.claimed_by_source]
    parts += [cleanup_section(record), steps_section(record), origin_section(record), _footer()]
    return [part for part in parts if part]


def _header(record: RunRecord) -> Html:
    took = ""
    if record.ended_at:
        took = f", {seconds((record.ended_at - record.started_at).total_seconds())} in all"
    build = f"build {short(record.build_id)}" if record.build_id else "no build was reached"
    facts = (
        ("run", record.run_id),
        ("build", build.removeprefix("build ")),
        ("host", record.host.address),
        ("began", f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC{took}"),
    )
    return tag(
        "header",
        tag("p", "stager · report of one run", class_="eyebrow"),
        tag("h1", record.playbook),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts), class_="facts"),
        tag("p", join(_badges(record)), class_="badges"),
    )


def _badges(record: RunRecord) -> list[Html]:
    badges = []
    if record.exit_code is not None:
        badges.append(
            tag("span", f"exit {record.exit_code}", class_=f"badge {'good' if record.exit_code == 0 else 'bad'}")
        )
    else:
        badges.append(tag("span", "not ended yet", class_="badge doubt"))
    if record.cleanup:
        same = record.cleanup.production_as_before
        words = "production as before" if same else "production is not as before"
        badges.append(tag("span", words, class_=f"badge {'good' if same else 'bad'}"))
    if record.gate:
        promote = record.gate.verdict == "promote"
        badges.append(tag("span", f"gate: {record.gate.verdict}", class_=f"badge {'good' if promote else 'bad'}"))
    return badges


def _footer() -> Html:
    words = "Each number here stands beside what was sampled, how often, why sampling ended, and what it did not prove."
    if not plots.can_plot():
        words += " Plots were left out: they need `pip install 'stager[plots]'` in stager's own environment."
    return tag("footer", tag("p", words))
