"""``stager run``: stage, verify, cleanup as one; cleanup always happens."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.exits import STAGING
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.cli.run_shown import run_document, show_run
from stager.clock import SystemClock
from stager.errors import GateRefused, NotShown
from stager.fleet.localzone import machine_zone
from stager.fleet.until import bounded
from stager.fleet.window import next_time
from stager.loading import LoadedPlaybook
from stager.run.playbooks import load_runnable
from stager.run.whole import Run


@command(*STAGING, NotShown, GateRefused)
@click.argument("playbook", type=click.Path())
@click.option("--baseline", multiple=True, metavar="PROBE", help="First run this probe on production, while it serves.")
@click.option("--until", metavar="HH:MM", help="Start only if the worst case ends before; the guard's cap sees to it.")
def run(output: Output, playbook: str, baseline: tuple[str, ...], until: str | None) -> int:
    """Stage, verify and clean up; cleanup always happens.

    The exit code is the gravest of all that happened.
    """
    clock, progress = SystemClock(), Progress(output)
    end = next_time(until, clock.now(), machine_zone()) if until else None

    def admit(loaded: LoadedPlaybook) -> LoadedPlaybook:
        return bounded(loaded, end, clock.now()) if end else loaded

    loaded = load_runnable(playbook)
    admit(loaded)  # refused before anything is asked of the host; and asked again right before staging
    whole = Run(loaded, writable_home(), clock, progress.listen, progress.told, admit=admit)
    outcome, record = whole.carry_out(baseline=baseline)
    if record is None:
        assert outcome.error is not None
        raise outcome.error
    show_run(output, outcome, record)
    output.emit(run_document(outcome, record))
    return outcome.code
