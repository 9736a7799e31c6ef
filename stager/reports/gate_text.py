"""The gate's answer for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stager.models.answer import GateAnswer
from stager.models.words import ago, short
from stager.reports.visible import visible


def gate_text(answer: GateAnswer) -> RenderableType:
    """Return the verdict, every reason, what it rests on and what was tolerated."""
    promote = answer.verdict == "promote"
    head = Text.assemble(
        (answer.verdict.upper(), "bold green" if promote else "bold red"),
        f"  build {short(answer.build_id)} under policy {answer.policy} ({short(answer.policy_sha256)})",
    )
    parts: list[RenderableType] = [head]
    parts += [_line("✗", reason, "red") for reason in answer.reasons]
    if answer.evidence_used:
        runs = {used.run_id for used in answer.evidence_used}
        where = visible(f"rests on run {runs.pop()}" if len(runs) == 1 else "rests on", "dim")
        parts += [where, Padding(_used(answer), (0, 0, 0, 2))]
    if answer.notes:
        parts.append(Text("seen besides", style="dim"))
        parts += [_line("·", note, "yellow") for note in answer.notes]
    return Group(*parts)


def _line(mark: str, sentence: str, style: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"  {mark}", style=style), visible(sentence))
    return grid


def _used(answer: GateAnswer) -> Table:
    grid = Table.grid(padding=(0, 2))
    one_run = len({used.run_id for used in answer.evidence_used}) == 1  # named above, then
    for used in answer.evidence_used:
        signed = f"signed by {', '.join(used.signed_by)}" if used.signed_by else ""
        grid.add_row(
            f"{used.probe}/{used.claim}",
            f"n {used.sample_count}",
            f"attempt {used.attempt}",
            "" if one_run else f"run {used.run_id}",
            ago(used.ended_at, answer.judged_at),
            short(used.sha256),
            signed,
        )
    return grid
