"""``stager gate``: may this build be promoted?"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.errors import GateRefused, InvalidFile
from stager.evidence.asking import ask_gate
from stager.evidence.attest import export_answer
from stager.evidence.gate import UNKNOWN_BUILD
from stager.evidence.lookup import resolve_build
from stager.evidence.policies import load_policy
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.probes.catalog import CLAIMS, suite_digest
from stager.reports.gate_text import gate_text


@command(GateRefused, InvalidFile)
@click.argument("build")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), help="Policy file; default: the shipped one.")
@click.option("--incumbent", default=UNKNOWN_BUILD, help="The build in production now, where it is known.")
@click.option("--sign", "key", type=click.Path(path_type=Path), help="Sign the answer with this OpenSSH key.")
@click.option("-o", "--output", "folder", type=click.Path(path_type=Path), help="Where to write the signed answer.")
def gate(
    output: Output, build: str, policy_file: Path | None, incumbent: str, key: Path | None, folder: Path | None
) -> int:
    """Say whether a build may be promoted, with every reason.

    BUILD is a build_id or its beginning. Nothing is changed; the evidence in $STAGER_HOME is read and checked anew.
    """
    store = Store(stager_home())
    policy = load_policy(policy_file, CLAIMS)
    build_id = _resolve(build, store)
    answer, rejected = ask_gate(
        store,
        build_id,
        policy,
        suite=suite_digest(),
        now=datetime.now(UTC),
        incumbent=_resolve(incumbent, store) if incumbent != UNKNOWN_BUILD else None,
    )
    for statement in rejected:
        output.warn(f"not counted: {statement.file.name}: {statement.why}")
    if build_id not in store.builds():
        output.warn(f"There is no evidence of build {build_id[:12]} here.")
    output.show(gate_text(answer))
    if key:
        for path in export_answer(folder or store.root / build_id, answer, key):
            output.say(f"signed: {path}")
    output.emit(answer.document())
    return 0 if answer.verdict == "promote" else GateRefused.exit_code


def _resolve(build: str, store: Store) -> str:
    """Return the build meant, also one that was staged in some run here and left no evidence."""
    return resolve_build(build, [*store.builds(), *Records(stager_home()).builds()])
