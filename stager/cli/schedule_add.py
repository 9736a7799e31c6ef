"""``stager schedule add``: show what a nightly run needs on this machine, then write it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.clock import SystemClock
from stager.errors import InvalidFile, Refused, UsageError
from stager.fleet import cron, install, timer
from stager.fleet.localzone import machine_zone
from stager.fleet.records import Record, Records
from stager.fleet.schedule import Schedule, next_start, objections
from stager.fleet.until import run_times
from stager.loading import LoadedPlaybook
from stager.models.quantities import parse_duration
from stager.run.playbooks import load_runnable


@command(InvalidFile, Refused)
@click.argument("playbook", type=click.Path(path_type=Path))
@click.option("--at", required=True, help="When the window opens, such as 01:30.")
@click.option("--until", required=True, help="When production must be back at the latest, such as 06:00.")
@click.option("--timezone", help="The window's time zone, such as Europe/Berlin; this machine's if not given.")
@click.option(
    "--days", default="daily", show_default=True, help="Days the window opens on, such as mon-fri or sat,sun."
)
@click.option("--jitter", default="0s", help="Start up to so much later, at random.")
@click.option("--name", help="The schedule's name; the playbook's if not given.")
@click.option("--env-file", type=click.Path(path_type=Path, dir_okay=False), help="A file with the secrets' values.")
@click.option(
    "--mechanism", type=click.Choice(["systemd", "systemd-user", "cron"]), help="What runs it; chosen if not given."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def add(output: Output, playbook: Path, dry_run: bool, yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Show the timer or crontab lines of a nightly run, then write them.

    A run starts only if its worst case ends before --until; a start that was missed is made up for while that holds.
    """
    records = Records(stager_home())
    loaded = load_runnable(playbook)
    records.check_name(options["name"] or loaded.playbook.name)
    wanted = _wanted(loaded, options)
    known = records.all()
    if any(record.schedule.name == wanted.name for record in known):
        raise UsageError(f"There is a schedule {wanted.name!r} already.", next=f"stager schedule remove {wanted.name}")
    now = SystemClock().now()
    today = now.date()
    found = objections(wanted, [record.schedule for record in known], today)
    if found.refused:
        raise Refused(found.refused)
    caller = _caller(options["env_file"])
    kind, trouble = _kind(options["mechanism"], dry_run=dry_run)
    if kind == "cron":
        plan = install.cron_plan(cron.entries(wanted, caller, machine_zone(), today))
    else:
        plan = install.systemd_plan(timer.units(wanted, caller, today), user=kind == "systemd-user")
    output.say(plan.text())
    for warning in (*trouble, *found.warned, *_warnings(loaded, options["env_file"], kind)):
        output.warn(f"warning: {warning}")
    document = {"schedule": wanted.document(), "kind": kind, "shown": plan.text(), "written": not dry_run}
    document["trouble"] = "\n".join(trouble)
    if not dry_run:
        if not yes and not output.as_json and sys.stdin.isatty():
            click.confirm("Write this?", abort=True)
        records.put(Record(schedule=wanted, installed=install.install(plan)))
        output.say(f"Written; the next night starts {next_start(wanted, now)}.")
    output.emit({**document, "next": next_start(wanted, now)})


def _kind(mechanism: install.Kind | None, *, dry_run: bool) -> tuple[install.Kind, tuple[str, ...]]:
    """What runs the schedule, and why nothing would, which only a dry run may end with."""
    try:
        return mechanism or install.choose(), ()
    except Refused as error:
        if not dry_run:
            raise
        return install.nearest(), (*error.reasons, "Without --dry-run this is refused.")


def _wanted(loaded: LoadedPlaybook, options: dict[str, Any]) -> Schedule:
    try:
        jitter = parse_duration(options["jitter"])
    except ValueError as error:
        raise UsageError(f"--jitter: {error}.") from None
    made = Schedule(
        name=options["name"] or loaded.playbook.name,
        playbook=str(loaded.path),
        host=loaded.playbook.host.address,
        at=options["at"],
        until=options["until"],
        timezone=options["timezone"] or machine_zone().key,
        days=options["days"],
        jitter=jitter,
        worst=run_times(loaded.playbook).worst,
        added=SystemClock().now().isoformat(timespec="seconds"),
    )
    made.window()
    return made


def _caller(env_file: Path | None) -> timer.Caller:
    found = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == "stager" else None
    program = (str(Path(found).absolute()),) if found else (sys.executable, "-m", "stager")
    environment = (("STAGER_HOME", str(stager_home())), ("HOME", str(Path.home())))
    return timer.Caller(program, environment, str(env_file.absolute()) if env_file else "")


def _warnings(loaded: LoadedPlaybook, env_file: Path | None, kind: str) -> list[str]:
    said = []
    names = ", ".join(loaded.playbook.candidate.secrets)
    if names and env_file is None:
        said.append(f"The timer has none of your environment: {names} will be missing; give --env-file.")
    if loaded.playbook.host.address != "local" and os.environ.get("SSH_AUTH_SOCK"):
        said.append("At night there is no ssh-agent: the key for this host must be readable without one.")
    if kind == "systemd-user" and not install.lingers():
        said.append("Your own timers end with your last login: `loginctl enable-linger` keeps them.")
    return said
