"""``stager report``: one HTML page about one run."""

from __future__ import annotations

from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.raw_samples import raw_samples
from stager.cli.writing import write_file
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.reports.page import report_page


@command()
@click.argument("run")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Default: in the run's folder.")
def report(output: Output, run: str, file: Path | None) -> None:
    """Write one self-contained HTML page about a run, with its plots.

    RUN is a run_id or its beginning. The page loads nothing from elsewhere; plots need the extra `stager[plots]`.
    """
    home = stager_home()
    records, store = Records(home), Store(home)
    record = records.load_whole(run, store)
    target = file or records.root / record.run_id / "report.html"
    samples = raw_samples(store, records, record)
    write_file(target, report_page(record, samples).encode())
    output.say(str(target))
    output.emit({"run_id": record.run_id, "file": str(target)})
