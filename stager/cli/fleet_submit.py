"""``stager fleet submit``: put playbooks, or a fleet file's rollout, into the queue, now or every night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.clock import SystemClock
from stager.errors import InvalidFile, Refused, UsageError
from stager.fleet.database import VARIABLE, find_database
from stager.fleet.files import submission, with_terms
from stager.fleet.jobs import new_batch, playbook_of
from stager.fleet.localzone import machine_zone
from stager.fleet.nights import FleetNight, cron_of, describe
from stager.fleet.queue import Queue, open_queue
from stager.fleet.records import Records
from stager.fleet.schedule import Schedule, next_start, objections
from stager.fleet.until import run_times
from stager.fleet.window import next_time
from stager.models.fleet import Rollout
from stager.models.quantities import parse_duration

database_option = click.option(
    "--database", metavar="URL", help=f"The queue's database, without a password; {VARIABLE} may hold one."
)


@command(InvalidFile, Refused)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@database_option
@click.option("--until", help="When production must be back; a job that would not fit is refused when its turn comes.")
@click.option("--held-for", default="10m", show_default=True, help="How long a host that another run holds is tried.")
@click.option("--attempts", type=click.IntRange(1, 10), default=1, show_default=True, help="Runs, if one is cut short.")
@click.option("--at", help="Every night instead of now, from this time on; needs --until.")
@click.option("--timezone", help="The night's time zone; this machine's if not given.")
@click.option("--days", default="daily", show_default=True, help="Days the night's window opens on, such as mon-fri.")
@click.option("--name", help="The night's name; the file's if not given.")
@click.option("--dry-run", is_flag=True, help="Show the jobs and waves, and queue nothing.")
def submit(output: Output, files: tuple[Path, ...], **options: Any) -> None:  # noqa: ANN401
    """Queue playbooks, or the rollout of one fleet file, for the workers to carry out.

    One job runs on a host at a time, in the order submitted; hosts go side by side.
    """
    now, zone = SystemClock().now(), machine_zone()
    try:
        held_for = parse_duration(options["held_for"])
    except ValueError as error:
        raise UsageError(f"--held-for: {error}.") from None
    until = next_time(options["until"], now, zone) if options["until"] and not options["at"] else None
    terms = {"held_for": held_for, "attempts": options["attempts"]}
    rollout = with_terms(submission(files, new_batch(now), now), until=until, **terms)
    show(output, rollout)
    document: dict[str, Any] = {
        "batch": rollout.batch,
        "waves": [[job.job_id for job in wave] for wave in rollout.waves],
        "night": None,
    }
    if options["dry_run"]:
        output.emit({**document, "queued": False, "warning": ""})
        return
    with open_queue(find_database(stager_home(), options["database"])) as queue:
        if options["at"]:
            night = night_of(files, rollout, options, terms)
            refuse_clashes(queue, night)
            queue.calendar.add(
                night.schedule.name, cron_of(night.schedule.window()), night.schedule.timezone, night.document()
            )
            document["night"] = night.schedule.name
            output.say(f"Night {night.schedule.name}: {describe(night)}; next {next_start(night.schedule, now)}.")
        else:
            queue.submit(rollout)
            output.say(f"Queued as {rollout.batch}.")
        why = queue.nothing_works()
    if why:
        output.warn(f"WARNING: NOTHING WILL RUN THIS: {why}. Start one: stager fleet worker")
    output.emit({**document, "queued": True, "warning": why})


def show(output: Output, rollout: Rollout) -> None:
    """Show what will be queued."""
    for number, wave in enumerate(rollout.waves):
        if len(rollout.waves) > 1:
            output.say(f"wave {number}:")
        for job in wave:
            output.say(f"  {job.job_id}: {job.name} on {job.host}")


def night_of(files: tuple[Path, ...], rollout: Rollout, options: dict[str, Any], terms: dict[str, Any]) -> FleetNight:
    """Return the night that was asked for.

    Raises:
        UsageError: its window is none.
    """
    if not options["until"]:
        raise UsageError("A night needs --until: when production must be back.")
    name = options["name"] or files[0].stem
    Records(stager_home()).check_name(name)
    jobs = [job for wave in rollout.waves for job in wave]
    schedule = Schedule(
        name=name,
        playbook=str(files[0].absolute()),
        host=", ".join(dict.fromkeys(job.host for job in jobs)),
        at=options["at"],
        until=options["until"],
        timezone=options["timezone"] or machine_zone().key,
        days=options["days"],
        worst=min(run_times(playbook_of(job)).worst for job in jobs),
        added=SystemClock().now().isoformat(timespec="seconds"),
    )
    schedule.window()
    return FleetNight(schedule=schedule, paths=tuple(str(path.absolute()) for path in files), **terms)


def refuse_clashes(queue: Queue, night: FleetNight) -> None:
    """Refuse a night that is too short for its shortest job, or whose name is taken.

    Raises:
        Refused, UsageError: it is.
    """
    if night.schedule.name in queue.calendar.names():
        raise UsageError(
            f"There is a night {night.schedule.name!r} already.", next=f"stager fleet cancel {night.schedule.name}"
        )
    found = objections(night.schedule, (), SystemClock().now().date())
    if found.refused:
        raise Refused(found.refused)
