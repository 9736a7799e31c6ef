"""``stager stage``: stage, and leave the candidate running under the guard for so long."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.parameters import DURATION
from stager.cli.progress import Progress
from stager.clock import SystemClock
from stager.errors import (
    CandidateFailed,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotRestored,
    Refused,
    Stopped,
    Unreachable,
)
from stager.loading import load_playbook
from stager.models.quantities import format_duration
from stager.run.staging_only import stage_and_leave
from stager.run.whole import as_ours, told_with_host
from stager.staging.stage import StageFailed


@command(InvalidFile, Refused, CandidateFailed, LeftForPerson, NotRestored, Unreachable, HostHeld, Stopped)
@click.argument("playbook", type=click.Path())
@click.option("--hold", type=DURATION, default=1800.0, show_default="30m", help="Keep it so long when we leave.")
def stage(output: Output, playbook: str, hold: float) -> int:
    """Stage a candidate and leave it running under the guard."""
    loaded = load_playbook(playbook)
    if hold > loaded.playbook.longest_hold():
        most = format_duration(loaded.playbook.longest_hold())
        raise InvalidFile(
            f"--hold {format_duration(hold)} is longer than guard/deadline and candidate/limits/runtime allow ({most})."
        )
    progress = Progress(output)
    try:
        staged, record, exchanges = stage_and_leave(loaded, stager_home(), SystemClock().now(), hold, progress.listen)
    except StageFailed as failure:
        error = told_with_host(as_ours(failure.error), failure.ended, loaded.playbook.host.address)
        second = failure.ended.error(loaded.playbook.host.address) if failure.ended else None
        raise (second if second and second.code == 9 else error) from failure
    output.detail(f"{exchanges} request/answer exchanges over one connection, handshake and waits not counted")
    candidate = staged.spec["candidate"]
    output.say(f"staged: run {staged.run_id}, build {staged.build.build_id[:12]}, port {candidate['port']} on the host")
    output.say(f"the guard restores production in {format_duration(hold)} unless it is told otherwise; next:")
    output.say(f"  stager verify {staged.run_id}")
    output.say(f"  stager cleanup {staged.run_id}")
    output.emit(record.document() | {"port": candidate["port"], "hold_seconds": hold, "exchanges": exchanges})
    return 0
