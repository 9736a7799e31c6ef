"""The evidence table: each value beside what it sampled, how many, why it ended and what it did not prove."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stager.models.evidence import Evidence, Verdict
from stager.reports.figures import claim_name, ended_because, figure, label
from stager.reports.headlines import headlines
from stager.reports.visible import visible

#: Below this many columns the table's cells would be towers of single words; blocks are read better.
WIDE = 120

STYLES = {
    Verdict.PASSED: "bold green",
    Verdict.FAILED: "bold red",
    Verdict.ERROR: "bold magenta",
    Verdict.ABORTED: "bold magenta",
    Verdict.INCONCLUSIVE: "bold yellow",
}

COLUMNS = ("value", "sampled", "n", "ended because", "did not prove")


def evidence_table(evidence: Sequence[Evidence], width: int) -> RenderableType:
    """Return the evidence as a table, or as blocks one below the other where the terminal is narrow."""
    if not evidence:
        return Text("no evidence")
    return _table(evidence) if width >= WIDE else Group(*(block(item) for item in evidence))


def verdict_text(verdict: Verdict) -> Text:
    """Return a verdict as people see it: the word, and its colour where there are colours."""
    return Text(str(verdict).upper(), style=STYLES[verdict])


def _table(evidence: Iterable[Evidence]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False, expand=True, leading=1)
    table.add_column("claim", no_wrap=True)
    for column, ratio in zip(COLUMNS, (5, 4, 0, 4, 6), strict=True):
        if ratio:
            table.add_column(column, ratio=ratio, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    for item in evidence:
        name = claim_name(item).replace("/", "/\n", 1)
        claim = Text.assemble(visible(name, "bold"), "\n", verdict_text(item.verdict))
        table.add_row(
            claim,
            _values(item),
            visible(item.sampled),
            str(item.sample_count),
            visible(ended_because(item)),
            visible("\n".join(f"- {sentence}" for sentence in item.not_proven)),
        )
    return table


def block(item: Evidence, *, everything: bool = False) -> RenderableType:
    """Return one piece of evidence as lines below its name; ``everything`` shows each measurement it has."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    cells: tuple[str | Text, ...] = (
        _values(item, everything=everything),
        visible(item.sampled),
        str(item.sample_count),
        visible(ended_because(item)),
        visible("\n".join(f"- {sentence}" for sentence in item.not_proven)),
    )
    for name, cell in zip(COLUMNS, cells, strict=True):
        grid.add_row(name, cell)
    head = Text.assemble(visible(claim_name(item), "bold"), "  ", verdict_text(item.verdict))
    return Padding(Group(head, Padding(grid, (0, 0, 0, 2))), (0, 0, 1, 0))


def _values(item: Evidence, *, everything: bool = False) -> Text:
    """Measured values first; then why, where it did not pass; then what the engine only claims."""
    shown = item.measurements if everything else headlines(item)
    lines = [
        Text.assemble(visible(f"{label(name)} ", "dim"), visible(figure(measurement, name), "bold"))
        for name, measurement in shown.items()
    ]
    if len(item.measurements) > len(shown):
        lines.append(Text(f"and {len(item.measurements) - len(shown)} more", style="dim"))
    style = STYLES[item.verdict].removeprefix("bold ")
    if item.verdict is not Verdict.PASSED or everything:
        lines += [visible(f"because {reason}", style) for reason in item.reasons]
    if item.tainted:
        lines.append(visible(f"tainted: {item.tainted}", "red"))
    if item.configured:
        said = ", ".join(f"{field.name} = {field.value}" for field in item.configured)
        lines.append(visible(f"claims {said}", "dim italic"))
    return Text("\n").join(lines) if lines else Text("nothing measured", style="dim")
