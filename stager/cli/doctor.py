"""``stager doctor``: all preflight checks, read-only."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.output import Output
from stager.errors import HostHeld, InvalidFile, Refused, Unreachable
from stager.run.foresight import Foresight, foresee
from stager.run.playbooks import load_runnable


@command(InvalidFile, Refused, Unreachable, HostHeld)
@click.argument("playbook", type=click.Path())
def doctor(output: Output, playbook: str) -> int:
    """Check everything a run would need, and change nothing.

    Says what is ready, what is missing, and which legs of the guard will hold.
    """
    seen = foresee(load_runnable(playbook))
    show(output, seen)
    output.emit(seen.document())
    if seen.reasons:
        return Refused.exit_code
    return HostHeld.exit_code if seen.holder is not None else 0


def show(output: Output, seen: Foresight) -> None:
    """Tell what was seen."""
    host = seen.facts["host"]
    output.say(
        f"host {seen.address}: {host['hostname']}, Linux {host['kernel']}, Python {host['python']}, as {host['user']}"
    )
    for unit, state in seen.facts["survey"].get("units", {}).items():
        output.say(f"  {unit}: {state['active']} {state.get('sub', '')}".rstrip())
    for card in host["gpus"]:
        output.say(f"  {card['name']}: {card['memory.used']} of {card['memory.total']} MiB in use")
    for line in seen.fit.lines() if seen.fit else ():
        output.say(f"  {line}")
    legs = seen.facts["legs"]
    output.say(
        "  guard legs: " + ", ".join(f"{leg} {'holds' if not why else f'MISSING ({why})'}" for leg, why in legs.items())
    )
    for warning in seen.warnings:
        output.say(f"  note: {warning}")
    if seen.holder is not None:
        output.warn(
            f"held: run {seen.holder.get('run_id')} of {seen.holder.get('holder')} since {seen.holder.get('since')}"
        )
    for reason in seen.reasons:
        output.warn(f"not ready: {reason}")
    output.say("ready" if not seen.reasons and seen.holder is None else "NOT ready; nothing was changed")
