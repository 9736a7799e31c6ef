"""``stager runs``: what happened, a line a run."""

from __future__ import annotations

import click
from rich.table import Table

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.since import read_since
from stager.clock import SystemClock
from stager.evidence.records import Records
from stager.models.evidence import Verdict
from stager.models.record import RunRecord


@command()
@click.option("--since", help="Only runs begun since a time (2026-11-29T18:00, local) or so long ago (14h).")
def runs(output: Output, since: str | None) -> int:
    """List this controller's runs, newest last; `stager schedule morning` sums them up, a fleet's with them."""
    begin = read_since(since, SystemClock().now()) if since else None
    known, damaged = Records(stager_home()).all()
    records = [r for r in known if begin is None or r.started_at >= begin]
    for error in damaged:
        output.warn(f"warning: {error.message}")
    table = Table("run", "host", "build", "playbook", "shown", "production", "exit", box=None, pad_edge=False)
    for record in records:
        table.add_row(
            record.run_id,
            record.host.address,
            (record.build_id or "none")[:12],
            record.playbook,
            shown(record),
            production(record),
            "open" if record.exit_code is None else str(record.exit_code),
        )
    if records or not damaged:
        output.show(table if records else "no runs yet")
    output.emit({"runs": [record.document() for record in records]})
    return 0


def shown(record: RunRecord) -> str:
    """How many of the claims looked at were shown."""
    passed = sum(item.verdict is Verdict.PASSED for item in record.evidence)
    return f"{passed} of {len(record.evidence)}" if record.evidence else "nothing"


def production(record: RunRecord) -> str:
    """How production was left, in a few words."""
    if record.cleanup is None:
        return "not known"
    if not record.cleanup.production_as_before:
        return "NOT as before"
    down = record.cleanup.downtime_seconds
    return "as before" + (f", {down:.1f} s down" if down else "")
