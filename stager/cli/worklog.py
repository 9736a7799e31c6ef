"""``stager worklog``: Markdown entries for the log a team keeps."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.reports.worklog import entry, worklog


@command(name="worklog")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--last", type=click.IntRange(min=1), help="Only the newest so many runs.")
def worklog_command(output: Output, runs: tuple[str, ...], last: int | None) -> None:
    """Write Markdown: each number beside what it sampled, how many, why it ended, what it did not prove."""
    home = stager_home()
    records, store = Records(home), Store(home)
    chosen, damaged = ([records.load_whole(run, store) for run in runs], []) if runs else records.all(store)
    for error in damaged:
        output.warn(f"warning: {error.message}")
    chosen.sort(key=lambda record: record.started_at)
    chosen = chosen[-last:] if last else chosen
    if not output.as_json:
        output.say(worklog(chosen).rstrip("\n") if chosen else "No runs yet.")
    output.emit({"entries": [{"run_id": record.run_id, "markdown": entry(record)} for record in chosen]})
