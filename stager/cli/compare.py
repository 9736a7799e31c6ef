"""``stager compare``: two runs side by side."""

from __future__ import annotations

from dataclasses import asdict

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.evidence.records import Records
from stager.reports.side import compare_runs
from stager.reports.side_text import side_text


@command()
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
def compare(output: Output, left: str, right: str) -> None:
    """Compare two runs in a table, and say where they are not two measurements of one thing."""
    records = Records(stager_home())
    comparison = compare_runs(records.load(left), records.load(right))
    output.show(side_text(comparison))
    output.emit(asdict(comparison))
