"""``stager schedule``: nightly runs in a window on this machine, by a systemd timer or cron; no daemon, no database."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import click
from rich.table import Table

from stager.cli.command import Group, command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.schedule_add import add
from stager.cli.schedule_morning import morning
from stager.clock import SystemClock
from stager.errors import InvalidFile, LeftForPerson, Refused
from stager.fleet import install
from stager.fleet.due import decide
from stager.fleet.records import Records
from stager.fleet.schedule import Schedule, next_start
from stager.fleet.until import run_times
from stager.loading import load_playbook
from stager.models.quantities import format_duration


@click.group(cls=Group)
def schedule() -> None:
    """Run a playbook every night within a window, from a timer on this machine."""


@command(InvalidFile, name="list")
def list_(output: Output) -> None:
    """List the schedules of this machine, their next night, and whether anything runs them."""
    rows = []
    table = Table("name", "host", "window", "next", "worst case", "last night", "runs by", box=None, pad_edge=False)
    records = Records(stager_home())
    for record in records.all():
        item = record.schedule
        trouble = install.ticks(item.name, record.installed)
        last = max(records.started(item.name), default=None)
        state = f"NOTHING: {trouble}" if trouble else record.installed.kind + (" (paused)" if item.paused else "")
        window = f"{item.at}-{item.until} {item.timezone} {item.days}"
        worst = format_duration(round(item.worst))
        table.add_row(item.name, item.host, window, next_start(item, _now()), worst, str(last or "-"), state)
        rows.append(
            {
                **item.document(),
                "kind": record.installed.kind,
                "next": next_start(item, _now()),
                "last_night": last.isoformat() if last else None,
                "trouble": trouble,
            }
        )
    if rows:
        output.show(table)
    else:
        output.say("There are no schedules.")
    for row in rows:
        if row["trouble"]:
            output.warn(f"warning: nothing will run {row['name']}: {row['trouble']}.")
    output.emit({"schedules": rows})


@command(InvalidFile, LeftForPerson)
@click.argument("name")
def remove(output: Output, name: str) -> None:
    """Take a schedule's timer or crontab lines away again; a run that is under way ends by itself."""
    records = Records(stager_home())
    record = records.get(name)
    left = install.uninstall(name, record.installed)
    records.remove(name)
    output.say(f"Removed {name}.")
    if left:
        raise LeftForPerson("\n".join(left), host_state="the schedule is removed")
    output.emit({"removed": name})


@command(InvalidFile)
@click.argument("name")
def pause(output: Output, name: str) -> None:
    """Start no more runs of a schedule until it is resumed; its timer stays."""
    _set_paused(output, name, paused=True)


@command(InvalidFile)
@click.argument("name")
def resume(output: Output, name: str) -> None:
    """Start runs of a paused schedule again."""
    _set_paused(output, name, paused=False)


@command(InvalidFile, Refused)
@click.argument("name")
@click.option("--cron", "by_cron", is_flag=True, help="Asked by cron: sleep the jitter out, be silent about no news.")
def due(output: Output, name: str, by_cron: bool) -> int:
    """Claim tonight's run if it may start now: what the timer asks before it runs anything."""
    clock, records = SystemClock(), Records(stager_home())
    item = records.get(name).schedule
    if by_cron and item.jitter and _decide(item, records).starts:
        clock.sleep(random.uniform(0, item.jitter))
    answer = _decide(item, records)
    starts = answer.starts and answer.night is not None and records.claim(name, answer.night.day)
    reason = answer.reason or ("" if starts else "Another start claimed this night.")
    if reason and not (by_cron and (answer.quiet or not answer.reason)):
        output.say(f"{name}: not started. {reason}")
    if not starts and not answer.quiet and answer.night is not None and answer.reason:
        records.refuse(name, answer.night.day, answer.reason)
    output.emit({"name": name, "starts": starts, "reason": reason})
    return 0 if starts else Refused.exit_code


for _command in (add, list_, remove, pause, resume, morning, due):
    schedule.add_command(_command)
due.hidden = True


def _decide(item: Schedule, records: Records) -> Any:  # noqa: ANN401
    times = run_times(load_playbook(item.playbook, check_files=False).playbook)
    return decide(item, _now(), times, records.started(item.name))


def _set_paused(output: Output, name: str, *, paused: bool) -> None:
    records = Records(stager_home())
    record = records.get(name)
    changed = record.schedule.model_copy(update={"paused": paused})
    records.put(record.model_copy(update={"schedule": changed}))
    output.say(
        f"{name} is paused." if paused else f"{name} runs again; the next night starts {next_start(changed, _now())}."
    )
    output.emit({"name": name, "paused": paused})


def _now() -> datetime:
    return SystemClock().now()
