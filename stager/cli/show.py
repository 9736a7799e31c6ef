"""``stager show``: one run: steps, times, evidence, and the host's own journal."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.table import Table

from stager.cli.command import command
from stager.cli.ending import show_cleanup
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.run_shown import show_evidence, show_production
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.reports.claimed_text import claimed_text


@command()
@click.argument("run")
def show(output: Output, run: str) -> int:
    """Show one run: steps, evidence, how it ended, and the host's journal: what, when, undo, outcome.

    RUN is a run's id or its beginning.
    """
    home = stager_home()
    record = Records(home).load_whole(run, Store(home))
    output.say(
        f"run {record.run_id} of {record.playbook} on {record.host.address}, build {(record.build_id or 'none')[:12]}"
    )
    steps = Table("step", "seconds", "changed", box=None, pad_edge=False)
    for step in record.steps:
        steps.add_row(step.name, f"{step.seconds:.2f}", "yes" if step.changed else "")
    output.show(steps)
    if record.baseline:
        output.say("production, measured the same way before")
        for item in record.baseline:
            show_production(output, item)
    show_evidence(output, record)
    if record.claimed_by_source:
        output.show(claimed_text(record.claimed_by_source))
    path = home / "runs" / record.run_id / "journal.jsonl"
    entries = read_journal(path.read_text(encoding="utf-8")) if path.is_file() else []
    if entries:
        output.show(journal_table(entries))
    if record.cleanup:
        show_cleanup(output, f"exit {record.exit_code}", record.cleanup)
    output.emit(record.document() | {"journal": entries})
    return 0


def read_journal(text: str) -> list[dict[str, Any]]:
    """The records of a journal; a torn line is passed over, as the host does."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def journal_table(entries: list[dict[str, Any]]) -> Table:
    """What, when, undo, outcome: a journal for a person."""
    table = Table("#", "when (UTC)", "kind", "what", "undo", "outcome", box=None, pad_edge=False)
    for entry in entries:
        undo = entry.get("undo") or {}
        what = (
            entry.get("unit")
            or entry.get("path")
            or entry.get("what")
            or undo.get("unit")
            or undo.get("path")
            or entry.get("reason")
            or ""
        )
        outcome = " ".join(str(entry[key]) for key in ("result", "why") if entry.get(key))
        table.add_row(
            str(entry["seq"]),
            entry["wall"][11:23],
            entry["kind"],
            f"{entry['step']} {what}".strip(),
            undo.get("op", ""),
            outcome or (f"code {entry['code']}" if entry["kind"] == "verdict" else ""),
        )
    return table
