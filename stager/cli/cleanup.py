"""``stager cleanup``: take a run down and restore, from any controller."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.ending import show_cleanup
from stager.cli.home import stager_home
from stager.cli.next_step import next_step
from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.cli.where import host_spec
from stager.errors import HostHeld, LeftForPerson, NotRestored, StagerError, Unreachable, UsageError, gravest
from stager.evidence.records import DamagedRecord, Records
from stager.models.playbook import HostSpec
from stager.run.attached import end, host_of, with_end
from stager.run.copies import keep_files
from stager.staging.cleanup import Ended
from stager.staging.patience import undisturbed
from stager.staging.session import Session, open_session, owner_record


@command(LeftForPerson, NotRestored, Unreachable, HostHeld)
@click.argument("run", required=False)
@click.option("--host", "address", metavar="ADDRESS|PLAYBOOK", help="Runs there that are mine or whose lease is over.")
@click.option("--take-over", is_flag=True, help="Also another's live run; RUN must be its full id.")
def cleanup(output: Output, run: str | None, address: str | None, take_over: bool) -> int:
    """Take a run down and put production back as it was.

    RUN is a run's id or its beginning; its controller may have died. A run that is over is told as it ended.
    """
    if not run and not address:
        raise UsageError("Name a run, or a host (--host ADDRESS).", next="stager status")
    progress = Progress(output)
    home = stager_home()
    if address:
        spec, run_id = host_spec(address), ""
    else:
        run_id, spec = host_of(home, run or "")
    ends: list[Ended] = []
    with open_session(spec, progress.listen) as session, undisturbed():
        for name in [run_id] if run_id else mine(session, spec, run, take_over):
            with session.step("cleanup", changed=True):
                ended, kept = end(session, name, "cleanup")
            ends.append(ended)
            files = {"journal.jsonl": kept.journal, "output.log": kept.output}
            keep_files(home, ended.run_id, files)
            if ended.run_id in Records(home).ids():
                try:
                    Records(home).save(with_end(Records(home).load(ended.run_id), ended, session))
                except DamagedRecord as damaged:  # production is back all the same
                    output.warn(f"warning: {damaged.message}")
            show_cleanup(output, ended.words, ended.cleanup)
        output.detail(f"{session.onhost.exchanges} request/answer exchanges over one connection, waits not counted")
    if not ends:
        output.say(f"nothing to clean up on {spec.address}")
    errors = [error for ended in ends if (error := ended.error(spec.address))]
    documents = [
        {"run_id": e.run_id, "cleanup": e.cleanup.document(), "verdict": e.words, "exit_code": e.code} for e in ends
    ]
    code = gravest([ended.code for ended in ends])
    document = documents[0] if len(documents) == 1 else {"runs": documents, "exit_code": code}
    tell(output, errors, document)
    return code


def tell(output: Output, errors: list[StagerError], document: dict[str, object]) -> None:
    """Say what is not as it was, and write the document."""
    for error in errors:
        error.next = error.next or next_step(error, output.typed)
        output.warn(f"stager: {error.message}")
        output.warn(f"host: {error.host_state}")
        output.warn(f"next: {error.next}")
    output.emit(document | (errors[0].document() if errors else {}))


def mine(session: Session, spec: HostSpec, run: str | None, take_over: bool) -> list[str]:
    """The runs on a host that may be cleaned up: ours, or with their lease over; another's only by its full id.

    Those are the open ones, and the newest where it ended with production not restored.

    Raises:
        HostHeld: the run named is another's and goes on.
    """
    me = owner_record("cleanup")["holder"]
    found = []
    runs = session.call("status", "status")["runs"]
    for entry in runs:
        if run and not entry["run_id"].startswith(run):
            continue
        verdict = entry.get("verdict")
        unfinished = not verdict or verdict["step"] == "held" or (verdict["code"] == 9 and entry is runs[-1])
        if not unfinished and not run:
            continue
        if entry["state"] in ("released", "never begun"):
            continue
        held_by = entry.get("holder")
        holder = held_by.get("holder") if isinstance(held_by, dict) else held_by
        left = entry.get("lease_seconds_left")  # not known of another user's run
        alive = left is None or left > 0
        if holder != me and alive and not (take_over and run == entry["run_id"]):
            if run:
                raise HostHeld(
                    f"Run {entry['run_id']} is {holder}'s and it goes on{f' for {left:g}s' if left else ''}.",
                    next=f"stager cleanup {entry['run_id']} --host {spec.address} --take-over",
                )
            continue
        found.append(entry["run_id"])
    return found
