"""``stager init``: a first playbook for a host, from what is seen there."""

from __future__ import annotations

from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.output import Output
from stager.cli.where import host_spec
from stager.cli.writing import write_file
from stager.errors import Refused, Unreachable, UsageError
from stager.staging.draft import draft
from stager.staging.session import open_session


@command(Refused, Unreachable)
@click.argument("address")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Where to write it; default: stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(output: Output, address: str, file: Path | None, *, force: bool) -> None:
    """Look at a host, change nothing, and write an annotated playbook.

    ADDRESS is a host, or USER@HOST. Services that listen where inference servers do are taken for production, and
    timers that mention them for watchdogs; whatever was guessed is marked as a guess.
    """
    if file and file.exists() and not force:
        raise UsageError(f"{file} is there already; --force writes over it.", next=f"stager doctor {file}")
    spec = host_spec(address)
    with open_session(spec) as session:
        seen = session.call("scout", "look")
    text = draft(spec, seen)
    if file:
        write_file(file, text.encode())
        output.say(f"written: {file}; next: look at every guess in it, then `stager doctor {file}`")
    elif not output.as_json:
        output.say(text.rstrip("\n"))
    output.emit({"file": str(file) if file else None, "playbook": text, "seen": seen})
