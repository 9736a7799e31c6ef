"""A comparison for people."""

from __future__ import annotations

from itertools import groupby

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from stager.reports.side import Comparison
from stager.reports.visible import visible


def side_text(comparison: Comparison) -> RenderableType:
    """Return the two columns as a table, below every warning."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", comparison.left, comparison.right, "change"):
        table.add_column(name, overflow="fold", justify="right" if name == "change" else "left")
    for claim, rows in groupby(comparison.rows, key=lambda row: row.claim):
        table.add_row(visible(claim, "bold"))
        for row in rows:
            style = "bold" if row.left != row.right else ""
            cells = (
                visible(f"  {row.what}", "dim"),
                visible(row.left, style),
                visible(row.right, style),
                visible(row.change),
            )
            table.add_row(*cells)
        table.add_section()
    warnings = [visible(f"! {warning}", "yellow") for warning in comparison.warnings]
    return Group(*warnings, *([table] if comparison.rows else []))
