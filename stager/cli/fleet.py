"""``stager fleet``: many hosts, many candidates, from a queue that one or more workers serve."""

from __future__ import annotations

import getpass
import os
import signal
import socket
import sys

import click

from stager.cli.command import Group, command
from stager.cli.fleet_shown import show_status
from stager.cli.fleet_submit import database_option, submit
from stager.cli.home import stager_home
from stager.cli.output import Output, flush
from stager.cli.progress import Progress
from stager.clock import SystemClock
from stager.errors import (
    CandidateFailed,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotRestored,
    NotShown,
    Refused,
    Stopped,
    Unreachable,
    UsageError,
    gravest,
)
from stager.fleet.carry import carry_out, end_in_order, follow_worker, read_order
from stager.fleet.database import find_database
from stager.fleet.queue import open_queue
from stager.fleet.roster import DEAD_AFTER
from stager.fleet.worker import SLOTS, Worker


@click.group(cls=Group)
def fleet() -> None:
    """Stage many candidates on many hosts, from a queue that one or more workers serve."""


@command(Refused)
@database_option
@click.option(
    "--slots",
    type=click.IntRange(1, 256),
    default=SLOTS,
    show_default=True,
    help="Runs at once, for each worker of the queue; the word of the one started last counts.",
)
@click.option(
    "--dead-after",
    type=click.FloatRange(5, 3600),
    default=DEAD_AFTER,
    show_default=True,
    help="Seconds without a sign of life after which another worker's jobs are taken over.",
)
def worker(output: Output, database: str | None, slots: int, dead_after: float) -> None:
    """Serve the queue: the only process that carries jobs out; one for each state folder.

    SIGTERM and Ctrl-C end it in order: every run cleans up, jobs not begun stay queued.
    """
    home = stager_home()
    serving = Worker(home, find_database(home, database), SystemClock(), output.say, slots, dead_after=dead_after)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: serving.stop.set())
    serving.serve()
    output.emit({"stopped": True})
    for stream in (sys.stdout, sys.stderr):
        flush(stream)
    os._exit(0)  # jobs that only wait for a held host stay in the queue; their threads are not waited for


@command(InvalidFile, Refused, CandidateFailed, NotShown, LeftForPerson, NotRestored, Unreachable, HostHeld, Stopped)
def carry(output: Output) -> int:
    """Carry one job out: what a worker starts for each run, with the job on standard input."""
    order = read_order(sys.stdin.buffer)
    follow_worker(sys.stdin.buffer, end_in_order)
    progress = Progress(output)
    output.say(f"job {order.job.job_id}: {order.job.name} on {order.job.host}, run {order.run_id}")
    told = carry_out(order, stager_home(), SystemClock(), progress.listen, progress.told)
    if told.message:
        output.warn(f"stager: {told.message}")
    output.emit(told.document())
    return told.exit_code


@command()
@database_option
@click.option("--batch", default="", help="Only jobs whose name begins so; their gravest exit code is the command's.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many, the newest.")
def status(output: Output, database: str | None, batch: str, limit: int) -> int:
    """Show the queue: workers, nights, rollouts, and each job with what it came to."""
    with open_queue(find_database(stager_home(), database)) as queue:
        document = show_status(output, queue, batch, limit)
    output.emit(document)
    return gravest([job["exit_code"] or 0 for job in document["jobs"]]) if batch else 0


@command()
@click.argument("name")
@database_option
def cancel(output: Output, database: str | None, name: str) -> None:
    """Cancel jobs by their name or its beginning, or a night; a job that runs cleans up its host first."""
    who = f"{getpass.getuser()}@{socket.gethostname()}"
    with open_queue(find_database(stager_home(), database)) as queue:
        if name in queue.calendar.names():
            queue.calendar.remove(name)
            output.say(f"The night {name} is asked for no more; jobs of it that are queued stay.")
            output.emit({"night": name, "jobs": []})
            return
        if len(name) < 4:
            raise UsageError(f"{name!r} may mean too much; give at least four characters of a job's name.")
        rows = queue.cancel(name, who)
        for row in rows:
            output.say(f"{row.job.job_id} on {row.job.host}: {row.state}")
        if any(row.state == "running" for row in rows) and (why := queue.nothing_works()):
            output.warn(f"warning: {why}: hosts of runs under way restore by themselves when the lease is over.")
    output.emit({"night": None, "jobs": [row.document() for row in rows]})


for _command in (worker, submit, status, cancel, carry):
    fleet.add_command(_command)
carry.hidden = True
