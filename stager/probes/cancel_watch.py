"""Watching the engine let go: the gauge back where it must be, the next first token as soon as before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from stager.client.connection import connect
from stager.client.load import run_load
from stager.client.ticks import ticks
from stager.engines.reading import Reading
from stager.probes.ask import NO_ANSWER, ask
from stager.probes.cancel_bench import Bench
from stager.probes.logbook import broken
from stager.probes.requests import ask_once, limits_for

#: The next first token may take so much longer than its control (swama 116's control-TTFT method).
TTFT_FACTOR = 1.5
#: What a shared machine's scheduling may add to one first token, in seconds.
TTFT_SLACK_S = 0.1
#: A gauge is back when it reads so this many times in a row.
STEADY_READINGS = 3
_INTERVAL_S = 0.02
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Return:
    """How a gauge came back: seconds after the cut (None: not within the deadline), its last value, samples."""

    seconds: float | None
    last: float | None
    samples: int


async def watch(bench: Bench, reading: Reading, since_ns: int, deadline: float, allowed: Callable[[], float]) -> Return:
    """Read a gauge until it is steadily no more than allowed, at most until the deadline after ``since_ns``."""
    good, first_good, last, count = 0, 0, None, 0
    async with connect(bench.target.base_url, limits_for(0, deadline + 1)) as connection:
        while True:
            most = allowed()
            try:
                last = await ask(connection, reading, within=deadline)
            except NO_ANSWER:
                last = None
            now = ticks()
            count += last is not None
            if last is not None and last <= max(most, allowed()):
                first_good = first_good if good else now
                good += 1
            else:
                good = 0
            if good >= STEADY_READINGS:
                return Return((first_good - since_ns) / 1e9, last, count)
            if good == 0 and (now - since_ns) / 1e9 > deadline:
                return Return(None, last, count)
            await asyncio.sleep(_INTERVAL_S)


async def next_token(bench: Bench) -> tuple[float | None, str]:
    """Ask for a first token; return its best time of a few tries, and why there was none or it was late."""
    best: float | None = None
    for _ in range(_TRIES):
        completion = await ask_once(bench.target, bench.short(), bench.timeout)
        why = broken(completion) or completion.error
        if why or completion.ttft is None:
            return None, f"the next request brought no token: {why or 'the answer was empty'}"
        best = completion.ttft if best is None else min(best, completion.ttft)
        if best <= TTFT_FACTOR * bench.ttft + TTFT_SLACK_S:
            return best, ""
        if best > bench.grace + bench.ttft:
            break  # a ghost that holds the slot; by the next try it may have ended by itself
    return best, f"the next first token took {best:.3f} s, its control {bench.ttft:.3f} s"


async def full_width(bench: Bench) -> tuple[float | None, str]:
    """Fill every claimed slot at once; return the slowest first token, and why it was late."""
    late = TTFT_FACTOR * bench.wide_ttft + TTFT_SLACK_S
    # Whoever has to wait must wait longer than what passes for noise, so each request holds its slot for longer.
    requests = [bench.short(2 * late) for _ in range(bench.width)]
    worst: float | None = None
    for _ in range(_TRIES):
        load = await run_load(bench.target.base_url, requests, bench.target.engine.warm, limits_for(512, bench.timeout))
        times = [c.ttft for c in load.completions]
        if any(t is None for t in times):
            return None, f"of {bench.width} requests at once {sum(t is None for t in times)} brought no token"
        worst = max(t for t in times if t is not None)
        if worst <= late:
            return worst, ""
        if worst > bench.grace + bench.wide_ttft:
            break  # a ghost that holds a slot; by the next try it may have ended by itself
    waited = f"the last began after {worst:.3f} s, its control after {bench.wide_ttft:.3f} s"
    return worst, f"of {bench.width} requests at once {waited}"
