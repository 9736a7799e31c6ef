"""What a run would do, for people: the steps with their undo, and the one restore."""

from __future__ import annotations

from stager.cli.output import Output
from stager.run.foresight import Foresight


def show_plan(output: Output, seen: Foresight) -> None:
    """Tell the steps, the order of the restore, and what should be known before.

    No line is folded: a path or command that was broken over lines could not be copied.
    """
    output.say("steps:")
    for number, step in enumerate(seen.steps, 1):
        output.say(f"  {number}. {step.name}: {step.does}")
        output.say(f"     undone by: {step.undo or 'nothing to undo'}")
    output.say("restore, whoever calls for it:")
    for number, line in enumerate(seen.undo, 1):
        output.say(f"  {number}. {line}")
    if seen.fit:
        output.say("context:")
        for line in seen.fit.lines():
            output.say(f"  {line}")
    for warning in seen.warnings:
        output.say(f"note: {warning}")
