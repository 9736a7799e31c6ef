"""``stager logs``: the candidate's own output."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.clock import SystemClock
from stager.errors import Unreachable
from stager.run.attached import host_of
from stager.staging.session import open_session

POLL_S = 0.5


@command(Unreachable)
@click.argument("run")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run is over.")
def logs(output: Output, run: str, follow: bool) -> int:
    """Show what the candidate printed, also when its run is over.

    Looking does not renew the lease.
    """
    run_id, spec = host_of(stager_home(), run)
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
    output.emit({"run_id": run_id, "output": text})
    return 0
