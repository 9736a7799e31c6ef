"""What a run would do, for people: the steps with their undo, and the one restore."""

from __future__ import annotations

from rich import box
from rich.table import Table

from stager.cli.output import Output
from stager.reports.visible import visible
from stager.run.foresight import Foresight


def show_plan(output: Output, seen: Foresight) -> None:
    """Draw the steps, the order of the restore, and what should be known before."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "does", "undone by"):
        table.add_column(name, overflow="fold", no_wrap=name == "step")
    for step in seen.steps:
        table.add_row(visible(step.name, "bold"), visible(step.does), visible(step.undo or "nothing to undo", "dim"))
    output.show(table)
    output.say("restore, whoever calls for it:")
    for number, line in enumerate(seen.undo, 1):
        output.say(f"  {number}. {line}")
    if seen.fit:
        output.say("context:")
        for line in seen.fit.lines():
            output.say(f"  {line}")
    for warning in seen.warnings:
        output.say(f"note: {warning}")
