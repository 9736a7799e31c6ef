"""How the end of a run is shown: what was restored, cleared, left."""

from __future__ import annotations

from typing import Any

from stager.cli.output import Output
from stager.models.record import Cleanup, RunRecord
from stager.promotion.switch import Promoted
from stager.reports.table import evidence_table


def show_cleanup(output: Output, words: str, cleanup: Cleanup) -> None:
    """Tell how the host was left."""
    output.say(f"host: {words}")
    output.say(f"  candidate stopped: {'yes' if cleanup.candidate_stopped else 'NO'}")
    output.say(f"  restored: {', '.join(cleanup.restored) or 'nothing was down'}")
    output.say(f"  markers cleared: {', '.join(cleanup.markers_cleared) or 'none'}")
    for entry in cleanup.left:
        output.say(f"  LEFT: {entry.path or entry.what} {entry.why}")
    if cleanup.downtime_seconds is not None:
        output.say(f"  production was down for {cleanup.downtime_seconds:.1f} s")
    output.say(f"  production as before: {'yes' if cleanup.production_as_before else 'NO'}")


def show_evidence(output: Output, record: RunRecord) -> None:
    """Draw the evidence table."""
    if record.evidence:
        output.show(evidence_table(record.evidence, output.console.width))


def run_document(record: RunRecord) -> dict[str, Any]:
    """The contract's `run` JSON."""
    return record.document()


def show_promoted(output: Output, promoted: Promoted, words: str) -> int:
    """Tell how a switch of production ended; returns the exit code."""
    output.say(f"{words}: production runs build {promoted.build_id[:12]} (before: {promoted.before[:12]})")
    output.say(f"  production was down for {promoted.downtime_seconds:.1f} s")
    for entry in promoted.ended.cleanup.left:
        output.say(f"  LEFT: {entry.path or entry.what} {entry.why}")
    for trouble in promoted.ended.trouble:
        output.warn(f"stager: {trouble}")
    output.emit(
        {
            "run_id": promoted.run_id,
            "build_id": promoted.build_id,
            "before": promoted.before,
            "verdict": promoted.ended.words,
            "gate": promoted.answer.document() if promoted.answer else None,
            "evidence": [item.document() for item in promoted.evidence],
            "downtime_seconds": promoted.downtime_seconds,
            "cleanup": promoted.ended.cleanup.document(),
            "exit_code": promoted.ended.code,
        }
    )
    return promoted.ended.code
