"""The findings of an audit as Markdown, for the worklog."""

from __future__ import annotations

from collections.abc import Iterator

from stager.audit.findings import Audit, Finding


def markdown(result: Audit) -> str:
    """Return the whole audit as one Markdown section; accepted findings stay, with their reason."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Audit) -> Iterator[str]:
    yield f"## Audit of {', '.join(f'`{path}`' for path in result.paths)}"
    yield ""
    yield "What the source says. A claim about behaviour, not evidence of it."
    yield from _section("Serialisers", [(item, f"`{item.name}` ({item.kind})") for item in result.serialisers])
    yield from _defaults(result)
    yield from _fields(result)
    yield from _section("Keys nothing reads", [(item, f"`{item.key}`") for item in result.dead_keys])
    yield from _section("Options never used", [(item, f"`{item.name}`") for item in result.unused_flags])
    yield from _section("Metrics never set", [(item, f"`{item.name}`") for item in result.dead_metrics])
    yield from _section("Write-backs without effect", [(item, f"`{item.name}`") for item in result.dead_write_backs])
    if result.next_steps:
        yield from ("", "### In order", "", *(f"{n}. {step}" for n, step in enumerate(result.next_steps, 1)))
    yield from _summary(result)


def _section(title: str, items: list[tuple[Finding, str]]) -> Iterator[str]:
    if items:
        yield from ("", f"### {title}", "")
    for item, label in items:
        yield f"- {label} at `{item.where}`: {item.why}{_marks(item)}"


def _defaults(result: Audit) -> Iterator[str]:
    limit = ""
    if result.batch_defaults:
        yield from ("", "### Batch defaults, in the order they apply")
    for item in result.batch_defaults:
        if item.limit != limit:
            limit = item.limit
            yield from ("", f"**{limit}**", "")
        value = "not told" if item.value is None else str(item.value)
        wins = " **wins**" if item.wins else ""
        yield f"{item.order}. `{item.text}` at `{item.where}`: {value}{wins}. {item.why}{_marks(item)}"


def _fields(result: Audit) -> Iterator[str]:
    if not result.fields:
        return
    yield from (
        "",
        "### Fields",
        "",
        "| endpoint | field | kind | set at | can it disagree with reality? |",
        "|---|---|---|---|---|",
    )
    for item in result.fields:
        name = item.name.replace("|", "\\|")
        yield f"| `{item.endpoint}` | `{name}` | {item.kind} | `{item.where}` | {item.can_disagree}{_marks(item)} |"


def _marks(item: Finding) -> str:
    text = " (by text only)" if item.by == "text" else ""
    return text + (f" *Accepted: {item.accepted}*" if item.accepted else "")


def _summary(result: Audit) -> Iterator[str]:
    read = result.summary
    yield from ("", "### What was read, and what was not", "")
    yield (
        f"- {read.python_files} Python files ({read.python_lines} lines) by syntax, {read.text_files} files by text, "
        f"{read.config_files} configuration files; {read.accepted} findings accepted."
    )
    for item in read.unread:
        yield f"- not read: `{item.path}`: {item.why}"
    for limit in read.limits:
        yield f"- {limit}"
    for void in result.void_acceptances:
        yield f"- accepts nothing: `{void.file}:{void.line}`: {void.problem}"
