"""``stager stage``: stage, and leave the candidate running under the guard for so long."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.exits import STAGING
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.parameters import DURATION
from stager.cli.progress import Progress
from stager.clock import SystemClock
from stager.errors import InvalidFile
from stager.models.quantities import format_duration
from stager.run.blame import what_it_came_to
from stager.run.playbooks import load_runnable
from stager.run.staging_only import stage_and_leave
from stager.staging.stage import StageFailed

#: How long a staged candidate stays when nothing else is said (contract.md).
HOLD_S = 1800.0


@command(*STAGING)
@click.argument("playbook", type=click.Path())
@click.option("--hold", type=DURATION, help="Keep it so long when we leave; 30m, or as long as it may run.")
def stage(output: Output, playbook: str, hold: float | None) -> int:
    """Stage a candidate and leave it running under the guard."""
    loaded = load_runnable(playbook)
    longest = loaded.playbook.longest_hold()
    hold = min(HOLD_S, longest) if hold is None else hold
    if hold > longest:
        most = format_duration(longest)
        raise InvalidFile(
            f"--hold {format_duration(hold)} is longer than guard/deadline and candidate/limits/runtime allow ({most})."
        )
    progress = Progress(output)
    try:
        staged, record, exchanges = stage_and_leave(loaded, writable_home(), SystemClock().now(), hold, progress.listen)
    except StageFailed as failure:
        raise what_it_came_to(failure, loaded.playbook.host.address) from failure
    output.detail(f"{exchanges} request/answer exchanges over one connection, handshake and waits not counted")
    candidate = staged.spec["candidate"]
    output.say(f"staged: run {staged.run_id}, build {staged.build.build_id[:12]}, port {candidate['port']} on the host")
    left = format_duration(round(staged.held or hold))
    output.say(f"the guard restores production in {left} unless it is told otherwise; next:")
    output.say(f"  stager verify {staged.run_id}")
    output.say(f"  stager cleanup {staged.run_id}")
    output.emit(
        record.document() | {"port": candidate["port"], "hold_seconds": staged.held or hold, "exchanges": exchanges}
    )
    return 0
