"""How a switch of production is shown."""

from __future__ import annotations

from stager.cli.output import Output
from stager.promotion.switch import Promoted


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
