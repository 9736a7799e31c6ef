"""``stager run``: stage, verify, cleanup as one; cleanup always happens."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.ending import run_document, show_cleanup, show_evidence
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.clock import SystemClock
from stager.errors import (
    CandidateFailed,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotRestored,
    NotShown,
    Refused,
    Stopped,
    Unreachable,
)
from stager.fleet.localzone import machine_zone
from stager.fleet.until import bounded
from stager.loading import load_playbook
from stager.run.whole import Run


@command(InvalidFile, Refused, CandidateFailed, NotShown, LeftForPerson, NotRestored, Unreachable, HostHeld, Stopped)
@click.argument("playbook", type=click.Path())
@click.option("--baseline", multiple=True, metavar="PROBE", help="First run this probe on production, while it serves.")
@click.option("--until", metavar="HH:MM", help="Start only if the worst case ends before; the guard's cap sees to it.")
def run(output: Output, playbook: str, baseline: tuple[str, ...], until: str | None) -> int:
    """Stage, verify and clean up; cleanup always happens.

    The exit code is the gravest of all that happened.
    """
    loaded = load_playbook(playbook)
    if until:
        loaded = bounded(loaded, until, SystemClock().now(), machine_zone())
    progress = Progress(output)
    outcome, record = Run(loaded, stager_home(), SystemClock(), progress.listen, progress.told).carry_out(
        baseline=baseline
    )
    if record is None:
        assert outcome.error is not None
        raise outcome.error
    show_evidence(output, record)
    if outcome.ended:
        show_cleanup(output, outcome.ended.words, outcome.ended.cleanup)
    document = run_document(record)
    for error in outcome.errors:
        output.warn(f"stager: {error.message}")
        if error.details.get("log"):
            output.warn(f"the end of the candidate's output:\n{error.details['log']}")
    if outcome.error:
        output.warn(f"host: {outcome.error.host_state}")
        if outcome.error.next:
            output.warn(f"next: {outcome.error.next}")
        document |= outcome.error.document()
    output.say(f"run {record.run_id}, build {(record.build_id or 'none')[:12]}: exit {outcome.code}")
    output.emit(document)
    return outcome.code
