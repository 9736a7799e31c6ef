"""``stager promote``: gate, then switch production to the build; back by itself if it does not hold."""

from __future__ import annotations

from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.exits import STAGING
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.cli.promoted_shown import show_promoted
from stager.clock import SystemClock
from stager.errors import GateRefused, NotShown
from stager.evidence.policies import load_policy
from stager.probes.catalog import CLAIMS
from stager.promotion.switch import Switch
from stager.run.blame import what_it_came_to
from stager.run.playbooks import load_runnable
from stager.staging.stage import StageFailed


@command(*STAGING, NotShown, GateRefused)
@click.argument("build")
@click.option("--playbook", required=True, type=click.Path(), help="Its promotion section says what is switched.")
@click.option(
    "--policy", type=click.Path(path_type=Path), help="Policy file; default: the playbook's, then the shipped."
)
def promote(output: Output, build: str, playbook: str, policy: Path | None) -> int:
    """Switch production to a build that the gate lets through.

    BUILD is a build_id or its beginning. Production must be healthy on it for its time, the listener must be that
    build, and the section's probes must pass; anything less, a lost connection or a reboot goes back by itself.
    """
    loaded = load_runnable(playbook)
    progress = Progress(output)
    if loaded.playbook.promotion and not loaded.playbook.promotion.probes:
        output.warn("note: promotion/probes names none, so nothing is measured on production's own port")
    switch = Switch(loaded, writable_home(), SystemClock(), progress.listen, progress.told)
    try:
        promoted = switch.promote(build, load_policy(policy or loaded.policy, CLAIMS))
    except StageFailed as failure:
        raise what_it_came_to(failure, loaded.playbook.host.address) from failure
    return show_promoted(output, promoted, "promoted")
