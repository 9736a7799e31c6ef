"""``stager audit``: what an engine's source says about its serialisers, limits, fields and keys."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from stager.audit.findings import Audit
from stager.audit.markdown import markdown
from stager.audit.othertext import SUFFIXES
from stager.audit.run import audit as read_sources
from stager.audit.sources import LocalSources, Sources
from stager.audit.terminal import terminal
from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.errors import HostKeyRefused, InvalidFile, LoginRefused, NotShown, Unreachable, UsageError
from stager.evidence.records import Records
from stager.models.claimed import AttachedAudit

_REMOTE = re.compile(r"(?P<address>(?:[^@/:\s]+@)?(?:\[[0-9A-Fa-f:.]+\]|[^/:\s]+)):(?P<path>/.+)")


@command(InvalidFile, NotShown, Unreachable, HostKeyRefused, LoginRefused)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--config", "configs", multiple=True, metavar="FILE", help="A configuration file; may be given again.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Markdown for the worklog instead of tables.")
@click.option("--attach", "run", metavar="RUN", help="Keep the findings beside this run's evidence, as claims.")
@click.option("--check", is_flag=True, help="Exit code 6 if a serialiser or something dead is not accepted.")
def audit(
    output: Output, paths: tuple[str, ...], configs: tuple[str, ...], *, run: str | None, as_markdown: bool, check: bool
) -> None:
    """Read an engine's source: serialisers, batch defaults, fields, keys nothing reads.

    PATH is a folder or a file, or ADDRESS:PATH on a host. Nothing in it is imported or run. A comment on a finding's
    line, or the line above, accepts it: "stager: accept FINDING - reason", where FINDING is its kind or its name.
    Attached findings are shown beside what was measured; no gate reads them.
    """
    record = Records(stager_home()).load(run) if run else None
    given = [_config(Path(name)) for name in configs]
    with ExitStack() as hosts:
        result = read_sources([_sources(path, hosts) for path in paths], given)
    _require_sources(result)
    output.emit(result.document() | {"attached_to": record.run_id if record else None})
    if as_markdown:
        output.say(markdown(result))
    else:
        output.show(terminal(result))
    if record:
        _attach(output, result, record.run_id)
    if check:
        _check(result)


def _require_sources(result: Audit) -> None:
    """Refuse an audit that read no source: that nothing was found there would say nothing.

    Raises:
        UsageError: not one source file was read.
    """
    if result.summary.python_files or result.summary.text_files:
        return
    looked_for = ", ".join((".py", *sorted(SUFFIXES)))
    unread = "".join(f" Not read: {item.path}: {item.why}." for item in result.summary.unread[:5])
    raise UsageError(
        f"{', '.join(result.paths)}: nothing was audited, because no source file was read; looked for {looked_for}."
        f"{unread}",
        next="stager audit --help",
    )


def _sources(path: str, hosts: ExitStack) -> Sources:
    remote = _REMOTE.fullmatch(path)
    if Path(path).exists():
        return LocalSources(Path(path))
    if remote is None:
        raise UsageError(f"{path}: there is no such file or folder.", next="stager audit --help")
    from stager.cli.remote_source import RemoteSources  # these are slow to load, and needed only here
    from stager.host.connect import connect
    from stager.models.playbook import HostSpec

    user, _, address = remote["address"].rpartition("@")
    host = connect(HostSpec(address=address, user=user or None))
    hosts.callback(host.close)
    return RemoteSources(host, remote["path"].rstrip("/") or "/")


def _config(path: Path) -> tuple[str, bytes]:
    try:
        return str(path), path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path}: {error.strerror}.", file=str(path)) from error


def _attach(output: Output, result: Audit, run_id: str) -> None:
    attached = AttachedAudit(run_id=run_id, read_at=datetime.now(UTC), paths=result.paths, claims=result.claims())
    Records(stager_home()).attach(attached)
    output.say(
        f"attached to run {run_id}: {len(attached.claims)} claims, shown beside its evidence; no gate reads them"
    )


def _check(result: Audit) -> None:
    dead = (*result.dead_keys, *result.unused_flags, *result.dead_metrics, *result.dead_write_backs)
    open_ones = [item for item in (*result.serialisers, *dead) if not item.accepted]
    if open_ones or result.void_acceptances:
        count = len(open_ones) + len(result.void_acceptances)
        raise NotShown(f"{count} findings are not accepted.", next="stager audit --help")
