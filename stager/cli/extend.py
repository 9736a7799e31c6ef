"""``stager extend``: renew the lease of a staged run."""

from __future__ import annotations

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.parameters import DURATION
from stager.errors import InvalidFile, NotRestored, Refused, Unreachable
from stager.models.quantities import format_duration
from stager.run.attached import attach_open, host_of
from stager.staging.session import open_session, owner_record


@command(InvalidFile, Refused, NotRestored, Unreachable)
@click.argument("run")
@click.argument("duration", type=DURATION)
def extend(output: Output, run: str, duration: float) -> int:
    """Keep a staged run for so long from now.

    The run's deadline is never moved: longer than that is refused.
    """
    run_id, spec = host_of(stager_home(), run)
    with open_session(spec) as session:
        attached = attach_open(session, run_id)
        runtime = (attached["spec"].get("candidate") or {}).get("runtime")
        if runtime is not None and duration > runtime:
            raise InvalidFile(
                f"{format_duration(duration)} is longer than candidate/limits/runtime ({format_duration(runtime)})."
            )
        who = str(owner_record("extend")["holder"])
        answer = session.call("hold", "hold", run_id=run_id, seconds=duration, who=who)
        session.expect(answer["restore_in"])
        output.say(f"run {run_id}: the guard restores in {answer['restore_in']:.0f} s (by {session.onhost.restore_by})")
        output.emit({"run_id": run_id, "lease_seconds_left": answer["restore_in"]})
    return 0
