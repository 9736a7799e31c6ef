"""How the queue is shown: workers, nights, rollouts, jobs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from stager.cli.output import Output
from stager.clock import SystemClock
from stager.fleet.nights import describe, read_night
from stager.fleet.queue import Queue
from stager.fleet.rows import Row
from stager.fleet.schedule import next_start


def show_status(output: Output, queue: Queue, batch: str, limit: int) -> dict[str, Any]:
    """Show the queue, and return it as a document."""
    workers, rows = queue.workers(), queue.rows(batch=batch, limit=limit)
    nights = [read_night(context) for context in queue.calendar.all()]
    rollouts = queue.rollout_ends(batch)
    for entry in workers:
        state = f"{entry.slots} slots" if entry.alive else f"GONE: nothing heard for {entry.age:.0f} s"
        output.say(f"worker {entry.process} ({entry.folder}): {state}")
    if why := queue.nothing_works():
        output.warn(f"WARNING: {why}. Start one: stager fleet worker")
    for night in nights:
        output.say(f"night {night.schedule.name}: {describe(night)}; next {next_start(night.schedule, _now())}")
    for name, end in rollouts.items():
        words = "goes on" if end is None else f"stopped: {end['stopped']}" if end["stopped"] else "over"
        withheld = f"; {len(end['withheld'])} jobs were not queued" if end and end["withheld"] else ""
        output.say(f"rollout {name}: {words}{withheld}")
    if rows:
        output.show(jobs_table(rows))
    else:
        output.say("There are no jobs.")
    return {
        "workers": [
            {
                "process": entry.process,
                "folder": entry.folder,
                "slots": entry.slots,
                "seconds_since_heard": round(entry.age, 1),
                "alive": entry.alive,
            }
            for entry in workers
        ],
        "nights": [{**night.document(), "next": next_start(night.schedule, _now())} for night in nights],
        "rollouts": rollouts,
        "jobs": [row.document() for row in rows],
        "warning": why,
    }


def jobs_table(rows: list[Row]) -> Table:
    """Return the jobs, oldest first."""
    table = Table("job", "wave", "host", "playbook", "state", "exit", "run", "says", box=None, pad_edge=False)
    for row in reversed(rows):
        told = row.told
        going_on = row.cancelled_by and row.state in ("running", "waiting")
        state = row.state + (" (being cancelled)" if going_on else "")
        says = (row.says.splitlines() or [""])[0]
        code = str(told.exit_code) if told else ""
        table.add_row(row.job.job_id, str(row.job.wave), row.job.host, row.job.name, state, code, row.run_id, says)
    return table


def _now() -> Any:  # noqa: ANN401
    return SystemClock().now()
