"""How the end of a whole run is shown: evidence, gate, what was restored, cleared, left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stager.cli.ending import show_cleanup
from stager.cli.next_step import next_step
from stager.cli.output import Output
from stager.errors import GRAVITY, GateRefused
from stager.models.record import Baseline, RunRecord
from stager.reports.figures import label, seconds
from stager.reports.gate_text import gate_text
from stager.reports.headlines import HEADLINES
from stager.reports.side import Comparison, production_beside_candidate
from stager.reports.side_text import side_text
from stager.reports.table import evidence_table

if TYPE_CHECKING:  # what only reads a record need not load what carries a run out
    from stager.run.whole import Outcome


def show_evidence(output: Output, record: RunRecord) -> None:
    """Draw the evidence table."""
    if record.evidence:
        output.show(evidence_table(record.evidence, output.console.width))


def show_run(output: Output, outcome: Outcome, record: RunRecord) -> None:
    """Tell how a whole run ended, gravest last, so that the last lines on the screen say what to do."""
    if record.baseline:
        output.say("\nproduction, measured the same way before")
        output.show(side_text(brief(production_beside_candidate(record))))
        for item in record.baseline:
            show_production(output, item)
    if record.evidence:
        output.say("\nevidence")
        show_evidence(output, record)
    if record.gate:
        output.say("gate")
        output.show(gate_text(record.gate))
        output.say()
    if outcome.ended:
        show_cleanup(output, outcome.ended.words, outcome.ended.cleanup)
    for note in record.notes:
        output.say(f"note: {note}")
    shown = {GateRefused.exit_code} if record.gate else set()
    for error in sorted(outcome.errors, key=lambda error: GRAVITY.index(error.code), reverse=True):
        if error.code not in shown:
            output.warn(f"stager: {error.message}")
        if error.details.get("log"):
            output.warn(f"the end of the candidate's output:\n{error.details['log']}")
    if outcome.error:
        outcome.error.next = outcome.error.next or next_step(outcome.error, output.typed)
        output.warn(f"host: {outcome.error.host_state}")
        output.warn(f"next: {outcome.error.next}")
    took = f" after {seconds((record.ended_at - record.started_at).total_seconds())}" if record.ended_at else ""
    output.say(f"run {record.run_id}, build {(record.build_id or 'none')[:12]}: exit {outcome.code}{took}")


def show_production(output: Output, item: Baseline) -> None:
    """Say beside production's numbers what they rest on; they belong to no build, and no gate reads them."""
    finding = item.finding
    output.say(f"  {item.probe}/{finding.claim} on production, {item.service}: {finding.verdict}")
    for reason in finding.reasons:
        output.say(f"    because {reason}")
    output.say(f"    sampled {finding.sampled}")
    for sentence in finding.not_proven:
        output.say(f"    did not prove {sentence}")


def brief(comparison: Comparison) -> Comparison:
    """Keep of a comparison what is read first; the report has all of it."""
    always = {"verdict", "n", "ended because"}
    rows = [
        row
        for row in comparison.rows
        if row.what in always | {label(name) for name in HEADLINES.get(row.claim, ())} or row.claim not in HEADLINES
    ]
    return replace(comparison, rows=tuple(rows))


def run_document(outcome: Outcome, record: RunRecord) -> dict[str, Any]:
    """The contract's `run` JSON."""
    return record.document() | (outcome.error.document() if outcome.error else {})
