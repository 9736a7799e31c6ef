"""One job in a process of its own: one whole run, and what it came to.

A run has its process to itself, so that its probes measure their own client and nobody else's, and so that a worker can
end it as Ctrl-C would. When the worker is gone the process notices (its standard input ends) and ends its run in order.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from stager.clock import Clock
from stager.errors import UsageError
from stager.fleet.jobs import load_job
from stager.fleet.until import bounded
from stager.loading import LoadedPlaybook
from stager.models.base import Model
from stager.models.fleet import Job, Told
from stager.models.texts import OneLine
from stager.run.whole import Run


class Order(Model):
    """What a worker writes to the process: the job, and the name its run is to have."""

    job: Job
    run_id: OneLine


def read_order(stream: IO[bytes]) -> Order:
    """Read the order: one line.

    Raises:
        UsageError: there is none; a person called this.
    """
    try:
        return Order.model_validate_json(stream.readline())
    except ValidationError:
        raise UsageError("This is called by `stager fleet worker` only.", next="stager fleet worker --help") from None


def follow_worker(stream: IO[bytes], end: Callable[[], None]) -> None:
    """Call ``end`` when the worker's end of the pipe is closed."""

    def wait() -> None:
        while os.read(stream.fileno(), 1):  # not the buffered reader: its lock would be held when the process ends
            pass
        end()

    threading.Thread(target=wait, daemon=True).start()


def end_in_order() -> None:
    """End this process the way an operator would: cleanup runs first."""
    os.kill(os.getpid(), signal.SIGTERM)


def carry_out(order: Order, home: Path, clock: Clock, listen: Any, told: Any) -> Told:  # noqa: ANN401
    """Carry a job out: one whole run.

    Raises:
        InvalidFile, Refused, Unreachable, HostHeld: nothing was changed.
    """
    job = order.job
    loaded = load_job(job)

    def admit(loaded: LoadedPlaybook) -> LoadedPlaybook:
        return bounded(loaded, job.until, clock.now()) if job.until else loaded

    admit(loaded)
    run = Run(loaded, home, clock, listen, told, run_id=order.run_id, admit=admit)
    outcome, record = run.carry_out()
    error = outcome.error
    if record is None and error is not None:
        raise error
    return Told(
        ending="done",
        exit_code=outcome.code,
        run_id=order.run_id,
        kind=error.kind if error else "",
        message=error.message if error else "",
        host_state=error.host_state if error else "",
        ended=outcome.ended_at,
        record=record.document() if record else None,
    )
