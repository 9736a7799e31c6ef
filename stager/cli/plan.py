"""``stager plan``: what a run would do, step by step, with its undo."""

from __future__ import annotations

import click
from rich.table import Table

from stager.cli.command import command
from stager.cli.output import Output
from stager.errors import HostHeld, InvalidFile, Refused, Unreachable
from stager.loading import load_playbook
from stager.run.foresight import foresee


@command(InvalidFile, Refused, Unreachable, HostHeld)
@click.argument("playbook", type=click.Path())
def plan(output: Output, playbook: str) -> int:
    """Show what a run would do, step by step, each with its undo; nothing is changed.

    Every precondition is looked at again when the run happens.
    """
    seen = foresee(load_playbook(playbook))
    table = Table("step", "does", "undone by", box=None, pad_edge=False)
    for step in seen.steps:
        table.add_row(step.name, step.does, step.undo or "nothing to undo")
    output.show(table)
    output.say("restore, whoever calls for it:")
    for number, line in enumerate(seen.undo, 1):
        output.say(f"  {number}. {line}")
    for warning in seen.warnings:
        output.say(f"note: {warning}")
    for reason in seen.reasons:
        output.warn(f"would be refused: {reason}")
    output.emit(seen.document())
    return Refused.exit_code if seen.reasons else 0
