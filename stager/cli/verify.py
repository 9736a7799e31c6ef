"""``stager verify``: run probes on a staged candidate."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.cli.run_shown import show_evidence
from stager.errors import CandidateFailed, Fenced, HostHeld, InvalidFile, NotRestored, NotShown, Unreachable
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.models.evidence import Evidence
from stager.run.attached import attach_open, ended_meanwhile, host_of
from stager.run.subject import refuse_unknown, subject_attached, wanted_probes
from stager.run.verify import unproven
from stager.run.verify import verify as run_probes
from stager.staging.session import open_session


@command(InvalidFile, NotShown, CandidateFailed, HostHeld, NotRestored, Unreachable)
@click.argument("run")
@click.option("--probe", "probes", multiple=True, metavar="NAME", help="Only this probe; may be given several times.")
def verify(output: Output, run: str, probes: tuple[str, ...]) -> int:
    """Run probes on a staged candidate and keep the evidence.

    RUN is a run's id or its beginning. The lease is taken back while probes run; what `stage --hold` promised stays.
    """
    refuse_unknown(probes)  # before anything is connected to
    home = writable_home()
    run_id, spec = host_of(home, run)
    record = Records(home).load(run_id)
    progress = Progress(output)
    with open_session(spec, progress.listen) as session:
        attached = attach_open(session, run_id)
        playbook, subject = subject_attached(attached, record)
        wanted = wanted_probes(playbook, probes)
        evidence: list[Evidence] = []

        def told(probe: str, found: Evidence | None) -> None:
            evidence.extend([found] if found else [])
            progress.told(probe, found)

        try:
            run_probes(session, subject, wanted, Store(home), told)
        except (CandidateFailed, Fenced) as error:
            raise ended_meanwhile(session, run_id, error) from error
        finally:  # what was broken off is on record, too, beside what somebody else may have noted meanwhile
            record = Records(home).load(run_id)
            record = record.model_copy(
                update={"evidence": (*record.evidence, *evidence), "steps": (*record.steps, *session.steps)}
            )
            Records(home).save(record)
    show_evidence(output, record.model_copy(update={"evidence": tuple(evidence)}))
    missing = unproven(evidence)
    document = {"run_id": run_id, "build_id": record.build_id, "evidence": [item.document() for item in evidence]}
    output.emit(document | {"exit_code": NotShown.exit_code if missing else 0})
    for sentence in missing:
        output.warn(f"stager: {sentence}")
    return NotShown.exit_code if missing else 0
