"""``stager rollback``: switch production back to what the newest promotion replaced."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.exits import STAGING
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.cli.promoted_shown import show_promoted
from stager.clock import SystemClock
from stager.loading import load_playbook
from stager.promotion.switch import Switch
from stager.run.blame import what_it_came_to
from stager.staging.stage import StageFailed


@command(*STAGING)
@click.option("--playbook", required=True, type=click.Path(), help="The playbook that was promoted with.")
def rollback(output: Output, playbook: str) -> int:
    """Switch production back to what the newest promotion replaced.

    Done like a promotion: under the guard, proven on production's own port, confirmed or undone.
    """
    loaded = load_playbook(playbook, check_files=False)
    progress = Progress(output)
    try:
        back = Switch(loaded, writable_home(), SystemClock(), progress.listen, progress.told).rollback()
    except StageFailed as failure:
        raise what_it_came_to(failure, loaded.playbook.host.address) from failure
    return show_promoted(output, back, "rolled back")
