"""``stager rehearse``: everything but the candidate."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.ending import show_cleanup
from stager.cli.exits import DOWN_AND_UP
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.clock import SystemClock
from stager.errors import InvalidFile
from stager.loading import load_playbook
from stager.run.blame import what_it_came_to
from stager.staging.session import open_session
from stager.staging.stage import StageFailed, Staging


@command(InvalidFile, *DOWN_AND_UP)
@click.argument("playbook", type=click.Path())
def rehearse(output: Output, playbook: str) -> int:
    """Take production down and up again under the guard, without a candidate.

    Says what the downtime was: what a night's run will cost, and proof that this host comes back.
    """
    loaded = load_playbook(playbook, check_files=False)
    progress = Progress(output)
    address = loaded.playbook.host.address
    with open_session(loaded.playbook.host, progress.listen) as session:
        staging = Staging(loaded, session, SystemClock().now(), with_release=False)
        try:
            ended = staging.rehearse()
        except StageFailed as failure:
            raise what_it_came_to(failure, address) from failure
    show_cleanup(output, ended.words, ended.cleanup)
    if error := ended.error(address):
        raise error
    output.emit(
        {
            "run_id": ended.run_id,
            "cleanup": ended.cleanup.document(),
            "steps": [step.document() for step in session.steps],
            "warnings": list(staging.warnings),
        }
    )
    return 0
