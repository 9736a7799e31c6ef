"""``stager schedule morning``: what the night came to, for people, for files, and for whoever must be told."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.since import read_since
from stager.cli.writing import write_file
from stager.clock import SystemClock
from stager.errors import (
    CandidateFailed,
    HostHeld,
    LeftForPerson,
    NotRestored,
    NotShown,
    Refused,
    StagerError,
    Stopped,
    Unreachable,
    UsageError,
    gravest,
)
from stager.evidence.records import Records as RunRecords
from stager.fleet.database import find_database, in_use
from stager.fleet.morning import Idle, document, idle_nights
from stager.fleet.morning import morning as gather
from stager.fleet.morning_page import page
from stager.fleet.morning_text import markdown
from stager.fleet.notify import by_command, by_webhook
from stager.fleet.records import Records
from stager.fleet.settle import started as run_began
from stager.models.record import RunRecord


@command(Refused, CandidateFailed, NotShown, LeftForPerson, NotRestored, Unreachable, HostHeld, Stopped)
@click.option("--since", default="24h", show_default=True, help="A time (2026-11-29T18:00, local) or so long ago.")
@click.option("--markdown", "markdown_path", type=click.Path(path_type=Path), help="Also write it as Markdown.")
@click.option("--html", "html_path", type=click.Path(path_type=Path), help="Also write it as one HTML page.")
@click.option("--notify", help="A command that gets the JSON document on its standard input.")
@click.option(
    "--webhook-file", type=click.Path(path_type=Path), help="A file with an address the document is posted to."
)
def morning(
    output: Output,
    since: str,
    markdown_path: Path | None,
    html_path: Path | None,
    notify: str | None,
    webhook_file: Path | None,
) -> int:
    """Say what the nights came to: per host and build what was shown, what was not, what was left, the downtime.

    A fleet's jobs and nights are in it where a queue is in use. The exit code is the gravest of the runs; a night
    without the run it should have had counts as refused (4), a run whose record is damaged as a fault (1).
    """
    now = SystemClock().now()
    begin = read_since(since, now)
    schedules = Records(stager_home())
    known = [record.schedule for record in schedules.all()]
    started = {item: schedules.started(item.name) for item in known}
    refusals = {(item.name, day): why for item in known for day, why in schedules.refusals(item.name).items()}
    (runs, damaged), idle = RunRecords(stager_home()).all(), idle_nights(started, refusals, begin, now)
    if in_use(stager_home()):
        fleet_runs, fleet_idle = fleet_part([run.run_id for run in runs], begin, now)
        runs, idle = [*runs, *fleet_runs], [*idle, *fleet_idle]
    answer = gather(runs, idle, begin, now)
    lost = [error.code for error in damaged if run_began(error.details["run_id"], now) >= begin]
    for error in damaged:
        output.warn(f"warning: {error.message}")
    output.say(markdown(answer))
    if markdown_path:
        write_file(markdown_path, markdown(answer).encode())
    if html_path:
        write_file(html_path, page(answer).encode())
    told = document(answer)
    failures = [by_command(shlex.split(notify), told)] if notify else []
    failures += [by_webhook(_address(webhook_file), told)] if webhook_file else []
    for failure in filter(None, failures):
        output.warn(f"warning: nobody was told: {failure}.")
    output.emit(told)
    return gravest([answer.code, *lost, *(StagerError.exit_code for failure in failures if failure)])


def fleet_part(known: list[str], begin: datetime, now: datetime) -> tuple[list[RunRecord], list[Idle]]:
    """Return what the fleet's queue knows besides."""
    from stager.fleet.morning_fleet import jobs_without_run, nights_without_jobs, runs_of
    from stager.fleet.queue import open_queue

    with open_queue(find_database(stager_home())) as queue:
        rows = queue.rows(since=begin)
        return runs_of(rows, known), [*jobs_without_run(rows), *nights_without_jobs(queue, begin, now)]


def _address(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
