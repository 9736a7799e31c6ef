"""The findings of an audit for a terminal: a line that says what and where, and below it why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stager.audit.findings import Audit, Finding


def terminal(result: Audit) -> RenderableType:
    """Return everything the audit found, as something rich can print at any width."""
    return Group(*_parts(result))


def _parts(result: Audit) -> Iterator[RenderableType]:
    yield from _simple("Serialisers", [(item, f"{item.name}  ({item.kind})") for item in result.serialisers])
    yield from _defaults(result)
    yield from _fields(result)
    yield from _simple("Keys nothing reads", [(item, item.key) for item in result.dead_keys])
    yield from _simple("Options never used", [(item, item.name) for item in result.unused_flags])
    yield from _simple("Metrics never set", [(item, item.name) for item in result.dead_metrics])
    yield from _simple("Settings without effect", [(item, item.name) for item in result.dead_write_backs])
    if not result.findings():
        yield Text("Nothing was found in what was read.\n")
    if result.next_steps:
        yield Text("In this order", style="bold")
        yield from (Padding(Text(f"{n}. {step}"), (0, 0, 0, 2)) for n, step in enumerate(result.next_steps, 1))
        yield Text()
    yield from (Text(line, style="dim") for line in _summary(result))


def _simple(title: str, items: Sequence[tuple[Finding, str]]) -> Iterator[RenderableType]:
    if items:
        yield Text(title, style="bold")
        for item, label in items:
            yield from _entry(item, Text(label, style="cyan"), item.why)
        yield Text()


def _entry(item: Finding, label: Text, words: str) -> Iterator[RenderableType]:
    style = "dim" if item.accepted else ""
    yield Padding(Text.assemble(label, "  ", (item.where, "green")), (0, 0, 0, 2), style=style)
    yield Padding(Text(words + _marks(item)), (0, 0, 0, 6), style=style)


def _defaults(result: Audit) -> Iterator[RenderableType]:
    if not result.batch_defaults:
        return
    yield Text("Batch defaults, in the order they apply", style="bold")
    limit = ""
    for item in result.batch_defaults:
        if item.limit != limit:
            limit = item.limit
            yield Padding(Text(limit, style="cyan"), (0, 0, 0, 2))
        value = "value not told" if item.value is None else f"{item.value}"
        label = Text.assemble(
            f"{item.order}. {item.text}  ", (f"{value}, wins" if item.wins else value, _weight(item.wins))
        )
        yield from (Padding(part, (0, 0, 0, 2)) for part in _entry(item, label, item.why))
    yield Text()


def _fields(result: Audit) -> Iterator[RenderableType]:
    if not result.fields:
        return
    yield Text("Fields: what sets each, and can it disagree with reality?", style="bold")
    endpoint = ""
    for item in result.fields:
        if item.endpoint != endpoint:
            endpoint = item.endpoint
            yield Padding(Text(endpoint, style="cyan"), (0, 0, 0, 2))
        label = Text.assemble((item.name, "bold"), f"  {item.kind}")
        yield from (Padding(part, (0, 0, 0, 2)) for part in _entry(item, label, item.can_disagree))
    yield Text()


def _weight(wins: bool) -> str:
    return "bold" if wins else ""


def _marks(item: Finding) -> str:
    text = " (by text only)" if item.by == "text" else ""
    return text + (f" Accepted: {item.accepted}." if item.accepted else "")


def _summary(result: Audit) -> Iterator[str]:
    read = result.summary
    yield (
        f"Read: {read.python_files} Python files ({read.python_lines} lines) by syntax, {read.text_files} by text, "
        f"{read.config_files} configuration files. Accepted: {read.accepted}."
    )
    yield from (f"Not read: {item.path}: {item.why}" for item in read.unread)
    yield from read.limits
    yield from (f"Accepts nothing: {item.file}:{item.line}: {item.problem}" for item in result.void_acceptances)
