"""``stager audit``: what an engine's source says about its serialisers, limits, fields and keys."""

from __future__ import annotations

from pathlib import Path

import click

from stager.audit.findings import Audit
from stager.audit.markdown import markdown
from stager.audit.run import audit as read_sources
from stager.audit.sources import LocalSources, Sources
from stager.audit.terminal import terminal
from stager.cli.command import command
from stager.cli.output import Output
from stager.errors import InvalidFile, NotShown, UsageError


@command(InvalidFile, NotShown)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--config", "configs", multiple=True, metavar="FILE", help="A configuration file; may be given again.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Markdown for the worklog instead of tables.")
@click.option("--check", is_flag=True, help="Exit code 6 if a serialiser or something dead is not accepted.")
def audit(output: Output, paths: tuple[str, ...], configs: tuple[str, ...], *, as_markdown: bool, check: bool) -> None:
    """Read an engine's source: serialisers, batch defaults, fields, keys nothing reads.

    PATH is a folder or a file. Nothing in it is imported or run. A comment on a finding's line, or the line above,
    accepts it: "stager: accept FINDING - reason", where FINDING is its kind or its name.
    """
    result = read_sources([_sources(path) for path in paths], [_config(Path(name)) for name in configs])
    output.emit(result.document())
    if as_markdown:
        output.say(markdown(result))
    else:
        output.show(terminal(result))
    if check:
        _check(result)


def _sources(path: str) -> Sources:
    if not Path(path).exists():
        raise UsageError(f"{path}: there is no such file or folder.", next="stager audit --help")
    return LocalSources(Path(path))


def _config(path: Path) -> tuple[str, bytes]:
    try:
        return str(path), path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path}: {error.strerror}.", file=str(path)) from error


def _check(result: Audit) -> None:
    dead = (*result.dead_keys, *result.unused_flags, *result.dead_metrics, *result.dead_write_backs)
    open_ones = [item for item in (*result.serialisers, *dead) if not item.accepted]
    if open_ones or result.void_acceptances:
        count = len(open_ones) + len(result.void_acceptances)
        raise NotShown(f"{count} findings are not accepted.", next="stager audit --help")
