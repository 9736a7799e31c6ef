"""A request that waits behind held slots, whose client leaves: it must leave the queue, not wait on for a slot.

As long as it stays in the queue it will be given a slot and worked on for nobody, so its deadline counts from its
client's leaving, with every slot still held, as it does for a job in a slot. What becomes of it once slots are free
is measured beside.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from stager.client.completion import Cut, How
from stager.client.connection import connect
from stager.client.ticks import ticks
from stager.probes.ask import NO_ANSWER, ask
from stager.probes.cancel_bench import Bench
from stager.probes.cancel_streams import Running, start
from stager.probes.cancel_watch import watch
from stager.probes.requests import limits_for

#: A request that was sent has reached the engine's queue after this many seconds, on any path a probe uses.
ON_ITS_WAY_S = 0.15
_INTERVAL_S = 0.02


@dataclass(slots=True)
class Queued:
    """How long the request stayed: seconds while the slots were held, and once they were free (None: it did not go)."""

    while_held_s: float | None = None
    once_free_s: float | None = None
    samples: int = 0
    refuted: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)


class Queue:
    """Every claimed slot held: all but one by long jobs, the last by a neighbour that outlasts the deadline."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._leave = asyncio.Event()
        self._blockers = [start(bench, bench.victim(Cut(How.CLOSE, on=self._leave))) for _ in range(bench.width - 1)]
        self._neighbour: Running | None = None

    @property
    def neighbour(self) -> Running:
        """The stream that must not notice anything."""
        assert self._neighbour is not None
        return self._neighbour

    @staticmethod
    @asynccontextmanager
    async def behind_held_slots(bench: Bench) -> AsyncIterator[Queue]:
        """Hold the slots while the context lasts."""
        queue = Queue(bench)
        try:
            for blocker in queue._blockers:
                await blocker.speaks(bench.timeout)
            # So many seconds to be seen waiting in, and as many again to be gone in.
            queue._neighbour = start(bench, bench.neighbour(outlasting=2 * bench.deadline(reading=False)))
            yield queue
        finally:
            if queue._neighbour is not None:
                await queue._neighbour.end()
            await queue.free()

    async def free(self) -> None:
        """Let the long jobs' clients leave; the neighbour keeps its slot."""
        self._leave.set()
        await asyncio.gather(*(blocker.task for blocker in self._blockers), return_exceptions=True)

    async def shows_it(self) -> bool:
        """Wait until the gauge shows a request waiting, at most a deadline: some gauges answer between steps only.

        Where there is no gauge, wait as long as a request may be on its way; nothing is seen then.
        """
        waiting = self.bench.waiting
        if waiting is None:
            await asyncio.sleep(ON_ITS_WAY_S)
            return False
        patience = self.bench.deadline(reading=False)
        end = ticks() + round(patience * 1e9)
        async with connect(self.bench.target.base_url, limits_for(0, patience + 1)) as connection:
            while ticks() < end:
                try:
                    if await ask(connection, waiting, within=patience) >= 1:
                        return True
                except NO_ANSWER:
                    pass  # a gauge that does not answer now may answer in a moment; the end is bounded
                await asyncio.sleep(_INTERVAL_S)
        return False

    async def lets_go(self, left_ns: int, *, seen: bool) -> Queued:
        """Watch the queue's gauge after the client left, first with every slot held, then with slots free."""
        found = Queued()
        waiting = self.bench.waiting
        if waiting is None:
            found.doubted.append("the engine shows no gauge of its queue: nobody saw the request wait, nor leave")
            return found
        if not seen:
            found.doubted.append(f"{waiting.where} never showed the request waiting")
            return found
        deadline = self.bench.deadline(reading=False)
        back = await watch(self.bench, waiting, left_ns, deadline, lambda: 0)
        found.samples, found.while_held_s = back.samples, back.seconds
        if any(one.task.done() for one in (self.neighbour, *self._blockers)):
            found.doubted.append("a slot came free before the deadline: leaving the queue and taking it look alike")
        if back.seconds is not None:
            return found
        if back.last is None:
            found.doubted.append(f"{waiting.where} did not answer")
            return found
        stayed = f"{waiting.where} still read {back.last:g} {deadline:.2f} s after the client left, every slot held"
        await self.free()
        later = await watch(self.bench, waiting, ticks(), deadline, lambda: 0)
        found.samples += later.samples
        found.once_free_s = later.seconds
        then = f"{later.seconds:.2f} s after" if later.seconds is not None else f"not within {deadline:.2f} s after"
        found.refuted.append(f"{stayed}: it waited on for a slot, and left the queue {then} slots came free")
        return found
