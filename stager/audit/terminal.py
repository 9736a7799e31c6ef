"""The findings of an audit as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stager.audit.findings import Audit, Finding


def terminal(result: Audit) -> RenderableType:
    """Return everything the audit found, as something rich can print."""
    return Group(*_parts(result))


def _parts(result: Audit) -> Iterator[RenderableType]:
    yield from _simple("Serialisers", [(f"{item.name}\n{item.kind}", item) for item in result.serialisers])
    yield from _defaults(result)
    yield from _fields(result)
    yield from _simple("Keys nothing reads", [(item.key, item) for item in result.dead_keys])
    yield from _simple("Options never used", [(item.name, item) for item in result.unused_flags])
    yield from _simple("Metrics never set", [(item.name, item) for item in result.dead_metrics])
    yield from _simple("Write-backs without effect", [(item.name, item) for item in result.dead_write_backs])
    if not result.findings():
        yield Text("Nothing was found in what was read.")
    for number, step in enumerate(result.next_steps, 1):
        yield Text(f"{number}. {step}", style="bold")
    yield Text()
    yield from (Text(line, style="dim") for line in _summary(result))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _simple(title: str, items: Sequence[tuple[str, Finding]]) -> Iterator[RenderableType]:
    if items:
        table = _table(title, "what", "where", "why")
        for label, item in items:
            table.add_row(label, item.where, item.why + _marks(item), style=_style(item))
        yield from (table, Text())


def _defaults(result: Audit) -> Iterator[RenderableType]:
    if not result.batch_defaults:
        return
    table = _table("Batch defaults, in the order they apply", "limit", "", "sets", "value", "where", "why")
    limit = ""
    for item in result.batch_defaults:
        label, limit = ("" if item.limit == limit else item.limit), item.limit
        value = "?" if item.value is None else str(item.value)
        table.add_row(
            label,
            str(item.order),
            item.text,
            Text(f"{value} wins", style="bold") if item.wins else value,
            item.where,
            item.why + _marks(item),
            style=_style(item),
        )
    yield from (table, Text())


def _fields(result: Audit) -> Iterator[RenderableType]:
    if not result.fields:
        return
    table = _table("Fields", "endpoint", "field", "kind", "set at", "can it disagree with reality?")
    for item in result.fields:
        words = item.can_disagree + _marks(item)
        row = (item.endpoint, item.name, item.kind, item.where, words)
        table.add_row(*row, style=_style(item))
    yield from (table, Text())


def _marks(item: Finding) -> str:
    text = " (by text only)" if item.by == "text" else ""
    return text + (f" Accepted: {item.accepted}" if item.accepted else "")


def _style(item: Finding) -> str:
    return "dim" if item.accepted else ""


def _summary(result: Audit) -> Iterator[str]:
    read = result.summary
    yield (
        f"Read: {read.python_files} Python files ({read.python_lines} lines) by syntax, {read.text_files} by text, "
        f"{read.config_files} configuration files. Accepted: {read.accepted}."
    )
    yield from (f"Not read: {item.path}: {item.why}" for item in read.unread)
    yield from read.limits
    yield from (f"Accepts nothing: {item.file}:{item.line}: {item.problem}" for item in result.void_acceptances)
