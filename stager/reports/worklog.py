"""Worklog entries in Markdown: each number beside what it sampled, how many, why it ended, what it did not prove."""

from __future__ import annotations

from collections.abc import Iterable

from stager.models.claimed import AttachedAudit
from stager.models.evidence import Evidence, Verdict
from stager.models.record import Baseline, RunRecord
from stager.models.words import short
from stager.reports.claimed_text import claim_words
from stager.reports.figures import claim_name, ended_because, figure, label, seconds


def worklog(records: Iterable[RunRecord]) -> str:
    """Return one entry for each run, newest first."""
    newest_first = sorted(records, key=lambda record: record.started_at, reverse=True)
    return "\n".join(entry(record) for record in newest_first)


def entry(record: RunRecord) -> str:
    """Return the entry for one run."""
    build = f"build `{short(record.build_id)}`" if record.build_id else "no build was reached"
    lines = [
        f"## {record.started_at:%Y-%m-%d %H:%M} UTC · {_escape(record.playbook)} · {_escape(record.host.address)}",
        "",
        f"Run `{record.run_id}`, {build}, {_ended(record)}.",
        "",
    ]
    for item in record.evidence:
        lines += [*_claim(item), ""]
    if not record.evidence:
        lines += ["No evidence was taken.", ""]
    if record.baseline:
        lines += [*_production(record.baseline), ""]
    for audit in record.claimed_by_source:
        lines += [*_claimed(audit), ""]
    lines += [*_cleanup(record), *_gate(record)]
    return "\n".join(lines) + "\n"


def _claim(item: Evidence) -> Iterable[str]:
    yield f"### {claim_name(item)}: {item.verdict}"
    yield ""
    if item.tainted:
        yield f"* **tainted**, counts for nothing: {_escape(item.tainted)}"
    for name, measurement in item.measurements.items():
        yield f"* {label(name)}: **{_escape(figure(measurement, name))}**"
    yield f"* sampled: {_escape(item.sampled)}, n = {item.sample_count}"
    yield f"* ended because: {_escape(ended_because(item))}"
    if item.verdict is not Verdict.PASSED:
        yield from (f"* because: {_escape(reason)}" for reason in item.reasons)
    yield f"* did not prove: {_escape('; '.join(item.not_proven))}"
    for field in item.configured:
        source = f", set by {field.source}" if field.source else ""
        yield f"* configured, never evidence: {_escape(field.name)} = {_escape(str(field.value))}{_escape(source)}"


def _production(baseline: Iterable[Baseline]) -> Iterable[str]:
    yield "### Production, measured the same way before; it belongs to no build"
    yield ""
    for item in baseline:
        finding = item.finding
        reasons = "" if finding.verdict is Verdict.PASSED else f"; because: {_escape('; '.join(finding.reasons))}"
        yield f"* {_escape(f'{item.probe}/{finding.claim} on {item.service}')}: {finding.verdict}{reasons}"
        yield f"  * sampled: {_escape(finding.sampled)}, n = {finding.sample_count}"
        yield f"  * did not prove: {_escape('; '.join(finding.not_proven))}"


def _claimed(audit: AttachedAudit) -> Iterable[str]:
    paths = ", ".join(map(_escape, audit.paths))
    yield f"### Configured (claimed by source, never evidence): {paths}, read {audit.read_at:%Y-%m-%d %H:%M} UTC"
    yield ""
    yield from (f"* {_escape(claim_words(claim))}" for claim in audit.claims)
    yield from () if audit.claims else ("* the audit found nothing to claim",)
    yield f"* not known: {_escape(audit.not_known)}"


def _ended(record: RunRecord) -> str:
    if record.exit_code is None or record.ended_at is None:
        return "not ended yet"
    took = seconds((record.ended_at - record.started_at).total_seconds())
    return f"exit {record.exit_code} after {took}"


def _cleanup(record: RunRecord) -> Iterable[str]:
    cleanup = record.cleanup
    if cleanup is None:
        yield "Not cleaned up yet."
        yield ""
        return
    state = "as before" if cleanup.production_as_before else "**not as before**"
    down = "never down" if cleanup.downtime_seconds is None else f"down for {seconds(cleanup.downtime_seconds)}"
    yield f"Production is {state}; it was {down}."
    if cleanup.restored:
        yield f"Restored: {', '.join(map(_escape, cleanup.restored))}."
    if cleanup.markers_cleared:
        yield f"Markers cleared: {', '.join(map(_escape, cleanup.markers_cleared))}."
    yield from (f"Left for a person: {_escape(f'{it.what} {it.path}: {it.why}')}" for it in cleanup.left)
    yield ""


def _gate(record: RunRecord) -> Iterable[str]:
    if record.gate:
        yield f"Gate: **{record.gate.verdict}** under policy {_escape(record.gate.policy)}."
        yield from (f"* {_escape(reason)}" for reason in record.gate.reasons)
        yield ""


def _escape(text: str) -> str:
    """Keep a server's own words from becoming Markdown."""
    plain = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|" else letter for letter in plain)
