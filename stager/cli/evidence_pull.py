"""``stager evidence pull``: evidence that a host keeps, fetched into this controller's store."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.where import host_spec
from stager.errors import NotShown, Refused, Unreachable
from stager.evidence.pull import pull as take
from stager.evidence.store import Store
from stager.run.evidence_copies import fetch_copies
from stager.staging.session import open_session


@command(Refused, NotShown, Unreachable)
@click.argument("address")
@click.option("--run", "run_id", default="", help="Only this run's evidence (a run_id or its beginning).")
def pull(output: Output, address: str, run_id: str) -> int:
    """Fetch the copies of evidence that a host keeps.

    ADDRESS is a host, or a playbook whose host is meant. Every copy is held against its own digests before it is
    kept; what is here already stays as it is.
    """
    store = Store(writable_home())
    with open_session(host_spec(address)) as session:
        pulled = take(store, fetch_copies(session, run_id))
    output.say(f"{len(pulled.taken)} taken, {len(pulled.known)} were here already, {len(pulled.refused)} refused")
    for name, why in pulled.refused:
        output.warn(f"refused: {name}: {why}")
    output.emit(
        {
            "taken": [item.sha256 for item in pulled.taken],
            "known": [item.sha256 for item in pulled.known],
            "refused": [{"name": name, "why": why} for name, why in pulled.refused],
        }
    )
    return NotShown.exit_code if pulled.refused else 0
