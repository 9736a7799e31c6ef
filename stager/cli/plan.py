"""``stager plan``: what a run would do, step by step, with its undo."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.output import Output
from stager.cli.planned import show_plan
from stager.errors import HostHeld, InvalidFile, Refused, Unreachable
from stager.run.foresight import foresee
from stager.run.playbooks import load_runnable


@command(InvalidFile, Refused, Unreachable, HostHeld)
@click.argument("playbook", type=click.Path())
def plan(output: Output, playbook: str) -> int:
    """Show what a run would do, step by step, each with its undo; nothing is changed.

    Every precondition is looked at again when the run happens.
    """
    seen = foresee(load_runnable(playbook))
    show_plan(output, seen)
    for reason in seen.reasons:
        output.warn(f"would be refused: {reason}")
    output.emit(seen.document())
    return Refused.exit_code if seen.reasons else 0
