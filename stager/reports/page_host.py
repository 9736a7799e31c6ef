"""The page's part on the host: the gate's word, how the host was left, the steps, where it all came from."""

from __future__ import annotations

from stager.models.record import RunRecord
from stager.models.words import short
from stager.reports.figures import seconds
from stager.reports.markup import Html, join, table, tag


def gate_section(record: RunRecord) -> Html:
    """Return the gate's word with every reason; empty where it was not asked."""
    answer = record.gate
    if answer is None:
        return Html()
    reasons = [tag("li", reason) for reason in answer.reasons]
    notes = [tag("li", note, class_="quiet") for note in answer.notes]
    rests = ", ".join(f"{used.probe}/{used.claim} (n = {used.sample_count:,})" for used in answer.evidence_used)
    word = "may be promoted" if answer.verdict == "promote" else "may not be promoted"
    return tag(
        "section",
        tag("h2", "Gate"),
        tag(
            "p",
            tag("strong", f"Build {short(answer.build_id)} {word}"),
            f" under policy {answer.policy} ({short(answer.policy_sha256)}).",
        ),
        tag("ul", *reasons, *notes) if reasons or notes else None,
        tag("p", f"It rests on {rests}.", class_="quiet") if rests else None,
    )


def cleanup_section(record: RunRecord) -> Html:
    """Return how the host was left."""
    cleanup = record.cleanup
    if cleanup is None:
        return tag("section", tag("h2", "How the host was left"), tag("p", "Not cleaned up yet.", class_="warn"))
    down = cleanup.downtime_seconds
    same = cleanup.production_as_before
    rows = [
        ("candidate", "stopped, its whole process tree" if cleanup.candidate_stopped else "not stopped"),
        ("production", "as before" if same else "not as before"),
        ("downtime", "none" if down is None else seconds(down)),
        ("restored", ", ".join(cleanup.restored) or "nothing had to be"),
        ("markers cleared", ", ".join(cleanup.markers_cleared) or "none were ours"),
    ]
    lines = [tag("div", tag("dt", name), tag("dd", words)) for name, words in rows]
    left = [
        tag("li", tag("strong", f"{item.what} "), tag("code", item.path) if item.path else None, f" {item.why}")
        for item in cleanup.left
    ]
    return tag(
        "section",
        tag("h2", "How the host was left"),
        tag("dl", *lines, class_="beside"),
        tag("p", tag("strong", "Left for a person"), class_="warn") if left else None,
        tag("ul", *left) if left else None,
    )


def steps_section(record: RunRecord) -> Html:
    """Return every step with its time, drawn to scale; empty where there is none."""
    if not record.steps:
        return Html()
    longest = max(step.seconds for step in record.steps) or 1.0
    lines = [
        tag(
            "tr",
            tag("th", step.name, tag("small", f" {step.note}") if step.note else None, scope="row"),
            tag("td", "changed" if step.changed else "", class_="quiet"),
            tag("td", seconds(step.seconds), class_="number"),
            tag(
                "td",
                tag("span", style=f"width:{max(step.seconds / longest * 100, 0.4):.1f}%", class_="bar"),
                class_="scale",
            ),
        )
        for step in record.steps
    ]
    return tag("section", tag("h2", "Steps"), table(tag("tbody", *lines), class_="steps"))


def origin_section(record: RunRecord) -> Html:
    """Return the facts of the host, and the full names."""
    host = record.host
    gpus = ", ".join(str(gpu.get("name", gpu)) for gpu in host.gpus) or "none seen"
    facts = (
        ("run", record.run_id),
        ("build", record.build_id or "none"),
        ("host", host.address),
        ("machine", " ".join(part for part in (host.machine, host.kernel) if part) or "not recorded"),
        ("GPU", gpus),
        ("driver", host.driver or "none"),
        ("boot", host.boot_id or "not recorded"),
    )
    notes = [tag("li", note) for note in record.notes]
    return tag(
        "section",
        tag("h2", "Origin"),
        tag(
            "dl",
            *(tag("div", tag("dt", name), tag("dd", tag("code", words))) for name, words in facts),
            class_="beside",
        ),
        join([tag("ul", *notes)]) if notes else None,
    )
