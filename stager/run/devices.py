"""What the cards of a run's host do, read over the run's own channel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from stager.probes.target import Unseen
from stager.staging.session import Session

#: Seconds for one reading; nvidia-smi takes about two to start where no daemon keeps the driver loaded.
PATIENCE_S = 30.0


def reader(session: Session, run_id: str, what: Literal["memory", "busy"]) -> Callable[[], Awaitable[int]]:
    """Return what reads the candidate's device memory (bytes), or how busy its devices are (percent).

    Raises (each reading):
        Unseen: with the host's own words.
        ConnectionLost, Unreachable: the channel broke.
    """

    async def read() -> int:
        args = {"run_id": run_id, "what": what}
        told = await asyncio.to_thread(session.onhost.call, "device", args, timeout=PATIENCE_S)
        if told["value"] is None:
            raise Unseen(told["why"])
        return int(told["value"])

    return read
