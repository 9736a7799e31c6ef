"""``stager extend``: renew the lease of a staged run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.parameters import DURATION
from stager.errors import HostHeld, InvalidFile, NotRestored, Refused, Unreachable
from stager.models.quantities import format_duration
from stager.run.attached import attach_open, host_of
from stager.staging.session import open_session, owner_record


@command(InvalidFile, Refused, HostHeld, NotRestored, Unreachable)
@click.argument("run")
@click.argument("duration", type=DURATION)
def extend(output: Output, run: str, duration: float) -> int:
    """Keep a staged run for so long from now. Whoever verifies it meanwhile goes on.

    The run's deadline and the candidate's runtime are never moved: what is longer than they leave is cut to that, and
    it is said; longer than they ever allow is refused.
    """
    run_id, spec = host_of(stager_home(), run)
    with open_session(spec) as session:
        attached = attach_open(session, run_id, beside=True)
        refuse_never(attached["spec"], duration)
        who = str(owner_record("extend")["holder"])
        answer = session.call("hold", "hold", run_id=run_id, seconds=duration, who=who)
        session.expect(answer["restore_in"])
        if limit := answer["limited_by"]:
            output.warn(f"{format_duration(duration)} is more than {limit} leaves: held for as long as that.")
        output.say(f"run {run_id}: the guard restores in {answer['restore_in']:.0f} s (by {session.onhost.restore_by})")
        output.emit({"run_id": run_id, "lease_seconds_left": answer["restore_in"], "limited_by": limit or None})
    return 0


def refuse_never(spec: Mapping[str, Any], duration: float) -> None:
    """Refuse what no run of this playbook may last, however early it is asked for.

    Raises:
        InvalidFile: with the limit's name.
    """
    limits = {"guard/deadline": spec["guard"]["deadline"]}
    if spec.get("candidate"):
        limits["candidate/limits/runtime"] = spec["candidate"]["runtime"]
    limit = min(limits, key=lambda name: float(limits[name]))
    if duration > limits[limit]:
        raise InvalidFile(f"{format_duration(duration)} is longer than {limit} ({format_duration(limits[limit])}).")
