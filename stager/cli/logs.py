"""``stager logs``: the candidate's own output."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.clock import SystemClock
from stager.errors import Unreachable
from stager.models.playbook import HostSpec
from stager.run.attached import host_of
from stager.run.copies import kept_output
from stager.staging.session import open_session

POLL_S = 0.5


@command(Unreachable)
@click.argument("run")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run is over.")
def logs(output: Output, run: str, follow: bool) -> int:
    """Show what the candidate printed, also when its run is over.

    Looking does not renew the lease. Of a run that is over the copy kept here is shown if its host cannot be reached.
    """
    home = stager_home()
    run_id, spec = host_of(home, run)
    try:
        text = from_host(output, run_id, spec, follow)
    except Unreachable as error:
        kept = kept_output(home, run_id)
        if kept is None:
            raise
        output.warn(f"stager: {error.message}")
        output.warn(f"This is the copy that was kept here when run {run_id} ended:")
        if kept:
            output.say(kept.rstrip("\n"))
        text = kept
    output.emit({"run_id": run_id, "output": text})
    return 0


def from_host(output: Output, run_id: str, spec: HostSpec, follow: bool) -> str:
    """Say what the host has of the candidate's output, and return it where a document is asked for.

    Raises:
        Unreachable: the host does not answer.
    """
    clock, offset, text = SystemClock(), 0, ""
    with open_session(spec) as session:
        while True:
            piece = session.call("logs", "logs", run_id=run_id, offset=offset)
            offset = piece["offset"]
            if piece["data"]:
                text += piece["data"] if output.as_json else ""
                output.say(piece["data"].rstrip("\n"))
            elif not follow or piece["over"]:
                break
            else:
                clock.sleep(POLL_S)
    return text
