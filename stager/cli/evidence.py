"""``stager evidence``: the store of evidence on this controller."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.group import Group
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.writing import write_file
from stager.errors import InvalidFile, NotShown
from stager.evidence.attest import check_folder, export_run
from stager.evidence.lookup import resolve
from stager.evidence.policies import signers_file
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.models.exhibit import Exhibit, Unreadable
from stager.reports.evidence_text import exhibit_list, exhibit_text, trouble_lines
from stager.reports.evidence_text import verified_text as verified


@click.group(
    cls=Group,
    elsewhere={
        "list": "stager.cli.evidence:list_",
        "show": "stager.cli.evidence:show",
        "verify": "stager.cli.evidence:verify",
        "export": "stager.cli.evidence:export",
        "pull": "stager.cli.evidence_pull:pull",
    },
)
def evidence() -> None:
    """List, show, check and sign the evidence kept here."""


@command(name="list")
@click.option("--build", default="", help="Only this build (or its beginning).")
@click.option("--run", "run_id", default="", help="Only this run (or its beginning).")
@click.option("--probe", default="", help="Only this probe.")
def list_(output: Output, build: str, run_id: str, probe: str) -> None:
    """List every attempt, oldest first, and whatever cannot be relied on."""
    exhibits, troubles = _search(build, run_id, probe)
    output.show(exhibit_list(exhibits, datetime.now(UTC)))
    for line in trouble_lines(troubles):
        output.warn(line)
    output.emit(
        {
            "evidence": [_entry(item) for item in exhibits],
            "unreliable": [trouble.document() for trouble in troubles],
        }
    )


@command(NotShown)
@click.argument("digest")
@click.option("--raw", type=click.Path(path_type=Path), help="Also write the raw samples, unpacked, to this file.")
def show(output: Output, digest: str, raw: Path | None) -> None:
    """Show one document in full.

    DIGEST is the document's digest, or its beginning, as `stager evidence list` shows it. What an attached audit claims
    stands below it, and is no part of it.
    """
    store = Store(stager_home())
    exhibits, _ = store.search()
    sha256 = resolve(digest, [item.sha256 for item in exhibits], "document", "stager evidence list")
    exhibit = next(item for item in exhibits if item.sha256 == sha256)
    claimed = Records(stager_home()).claimed_by_source(exhibit.evidence.run_id)
    output.show(exhibit_text(exhibit, claimed))
    if raw:
        write_file(raw, _raw(store, exhibit))
    output.emit(_entry(exhibit) | {"claimed_by_source": [audit.document() for audit in claimed]})


@command(NotShown, InvalidFile)
@click.argument("build", required=False, default="")
@click.option(
    "--signers",
    "signers_path",
    type=click.Path(path_type=Path),
    help="An allowed_signers file; signatures are checked.",
)
def verify(output: Output, build: str, signers_path: Path | None) -> int:
    """Check every document, its raw samples and its signatures anew; say which key, when, what.

    Exit code 6 if one of them does not hold, or if there is none.
    """
    store = Store(stager_home())
    exhibits, troubles = _search(build, "", "")
    signers = signers_file(signers_path) if signers_path else []
    builds = sorted({item.evidence.build_id for item in exhibits})
    checked = [check_folder(store.root / name, signers, datetime.now(UTC)) for name in builds] if signers_path else []
    good = [statement for found, _ in checked for statement in found]
    bad = [statement for _, refused in checked for statement in refused]
    faulty = [item for item in exhibits if item.faults]
    output.show(verified(exhibits, faulty, troubles, [vars(item) for item in good]))
    for line in (*trouble_lines(troubles), *(f"{it.file.name}: {it.why}" for it in bad)):
        output.warn(line)
    output.emit(
        {
            "checked": len(exhibits) + len(troubles),
            "faults": [_entry(item) for item in faulty],
            "unreliable": [trouble.document() for trouble in troubles],
            "signed": [{**vars(item), "file": str(item.file)} for item in good],
            "rejected": [{"file": str(item.file), "why": item.why} for item in bad],
        }
    )
    return 0 if exhibits and not (faulty or troubles or bad) else NotShown.exit_code


@command()
@click.argument("run")
@click.option("--key", required=True, type=click.Path(path_type=Path), help="OpenSSH key; a .pub signs by the agent.")
@click.option("-o", "--output", "folder", type=click.Path(path_type=Path), help="Default: beside the evidence.")
def export(output: Output, run: str, key: Path, folder: Path | None) -> None:
    """Write a run's evidence as signed in-toto statements.

    RUN is a run_id or its beginning. A key file signs a DSSE envelope; a public key (.pub) signs through the
    agent, and `ssh-keygen -Y verify -n in-toto@stager` checks it.
    """
    store = Store(stager_home())
    exhibits, _ = _search("", run, "")
    now = datetime.now(UTC)
    made = []
    for build_id in sorted({item.evidence.build_id for item in exhibits}):
        own = [item for item in exhibits if item.evidence.build_id == build_id]
        made += export_run(folder or store.root / build_id, build_id, own[0].evidence.run_id, own, key, now)
    for path in made:
        output.say(str(path))
    output.emit({"files": [str(path) for path in made]})


def _search(build: str, run_id: str, probe: str) -> tuple[list[Exhibit], list[Unreadable]]:
    """Read what is asked for; beginnings of names must be unambiguous."""
    store = Store(stager_home())
    build_id = resolve(build, store.builds(), "build", "stager evidence list") if build else ""
    exhibits, troubles = store.search(build_id=build_id, probe=probe)
    if run_id:
        run_id = resolve(run_id, [item.evidence.run_id for item in exhibits], "run", "stager evidence list")
        exhibits = [item for item in exhibits if item.evidence.run_id == run_id]
    return exhibits, troubles


def _raw(store: Store, exhibit: Exhibit) -> bytes:
    try:
        return store.raw(exhibit)
    except ValueError as error:
        raise NotShown(f"The raw samples cannot be given: {error}.") from error


def _entry(item: Exhibit) -> dict[str, object]:
    return {"sha256": item.sha256, "faults": list(item.faults), **item.evidence.document()}
