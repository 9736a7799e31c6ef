"""Before a verdict on time: how good are this client's clock and path?

Two sources run on the candidate's own host and are read over the same path. The lock-step one shows the
client's jitter; the time-sliced one shows whether the path itself joins tokens of different streams
(one SSH connection carries them all and may).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from stager.client.completion import CompletionRequest
from stager.client.connection import connect
from stager.client.limits import Limits
from stager.client.load import run_load
from stager.client.ticks import ticks
from stager.probes.statistics import co_arrival, percentile, tick_deviations
from stager.probes.target import MetronomeOrder, Mode, Target

#: The client is too coarse where its jitter is more than this share of a step (simulated: batched reads 0.86 there).
MOST_JITTER = 1 / 8

#: A time-sliced source must read at most this co-arrival, or the path fakes it (true: 0; independent streams: 0.125).
MOST_FAKED = 0.15

#: Steps the sources are run at, in milliseconds: below, the source itself is too coarse; above, it only takes longer.
STEP_RANGE = (2.0, 60.0)

_TICKS = 40

#: A path that joins streams does so every time; one hiccup of a busy machine does not. So a bad reading is repeated.
_ATTEMPTS = 3
_LATENCY_ASKS = 11
_LIMITS = Limits(connect=5.0, idle=10.0, total=30.0)


class NoSource(Exception):
    """The calibration source did not start."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the sources showed.

    Times are in ms. ``jitter`` is the 95th percentile of a token's distance from the middle of its own tick.
    ``lock_step`` and ``time_sliced`` are the co-arrival read for each source; None: it could not be read.
    """

    step_ms: float
    streams: int
    latency_ms: float | None
    jitter_ms: float | None
    jitter_p50_ms: float | None
    jitter_p99_ms: float | None
    lock_step: float | None
    time_sliced: float | None
    tokens: int
    events_per_second: float | None
    sliced_attempts: int = 1

    def document(self) -> dict[str, Any]:
        """JSON-ready form for ``vantage.calibration``."""
        return asdict(self)

    def against_timing(self, step_ms: float) -> tuple[str, ...]:
        """Why this client cannot judge times at that step; empty: it can."""
        if self.jitter_ms is None:
            return ("the client's own jitter could not be measured",)
        if self.jitter_ms > step_ms * MOST_JITTER:
            found = f"{self.jitter_ms:.2f} ms (95th percentile)"
            return (f"the client's jitter of {found} is more than an eighth of the {step_ms:.1f} ms step",)
        return ()

    def against_co_arrival(self) -> tuple[str, ...]:
        """Why co-arrival means nothing over this path; empty: it means something."""
        if self.time_sliced is None:
            return ("the time-sliced source could not be read, so the path may fake co-arrival",)
        if self.time_sliced > MOST_FAKED:
            return (
                f"a time-sliced source reads a co-arrival of {self.time_sliced:.2f} over this path: the path fakes it",
            )
        return ()


async def calibrate(target: Target, streams: int, step_ms: float) -> Calibration:
    """Run both sources at about the engine's step and read them with as many streams.

    Raises:
        NoSource: a source did not start.
    """
    step_ms = min(max(step_ms, STEP_RANGE[0]), STEP_RANGE[1])
    seconds = 30.0 + 6 * _TICKS * step_ms / 1000
    async with source(target, MetronomeOrder(Mode.LOCK_STEP, step_ms, streams, seconds)) as url:
        latency = await path_latency(url)
        even, rate = await _listen(url, streams)
    sliced: list[list[int]] = []
    async with source(target, MetronomeOrder(Mode.TIME_SLICED, step_ms, streams, seconds)) as url:
        attempts = 0
        while attempts == 0 or (_faked(sliced) > MOST_FAKED and attempts < _ATTEMPTS):
            attempts += 1
            again, _ = await _listen(url, streams)
            sliced = min(sliced or again, again, key=_faked)
    deviations = tick_deviations(even)
    lock_step, time_sliced = co_arrival(even), co_arrival(sliced)
    return Calibration(
        step_ms=round(step_ms, 3),
        streams=streams,
        latency_ms=latency,
        jitter_ms=percentile(deviations, 0.95),
        jitter_p50_ms=percentile(deviations, 0.5),
        jitter_p99_ms=percentile(deviations, 0.99),
        lock_step=lock_step and lock_step[0],
        time_sliced=time_sliced and time_sliced[0],
        tokens=sum(map(len, even)) + sum(map(len, sliced)),
        events_per_second=rate,
        sliced_attempts=attempts,
    )


def _faked(arrivals: list[list[int]]) -> float:
    """The co-arrival read for a time-sliced source; 1 where it could not be read."""
    found = co_arrival(arrivals)
    return found[0] if found else 1.0


async def path_latency(base_url: str, path: str = "/health") -> float | None:
    """The median time of a small answer on a warm connection in ms, None where none came."""
    found = []
    async with connect(base_url, _LIMITS) as connection:
        for _ in range(_LATENCY_ASKS):
            begun = ticks()
            try:
                await connection.get(path, within=5.0)
            except Exception:  # noqa: BLE001  an unanswered question is no latency; the caller sees None
                continue
            found.append((ticks() - begun) / 1e6)
    return median(found[1:]) if len(found) > 1 else None


async def _listen(base_url: str, streams: int) -> tuple[list[list[int]], float | None]:
    """Read one round of a source: arrivals per stream, and events per second over all of them."""
    request = CompletionRequest("/v1/completions", {"stream": True, "max_tokens": _TICKS, "prompt": ""}, keep_raw=False)
    load = await run_load(base_url, [request] * streams, "/health", _LIMITS)
    arrivals = [[delta.at_ns for delta in completion.deltas] for completion in load.completions]
    if not all(completion.whole and len(completion.deltas) == _TICKS for completion in load.completions):
        return [], None
    span = max(times[-1] for times in arrivals) - min(times[0] for times in arrivals)
    return arrivals, sum(map(len, arrivals)) / (span / 1e9) if span else None


def source(target: Target, order: MetronomeOrder) -> AbstractAsyncContextManager[str]:
    """Start a source on the target's host, reached over the same path as its engine; gives its base URL.

    Raises:
        NoSource: on entering, if it did not start.
    """
    return target.metronome(order) if target.metronome else local_metronome(order)


@asynccontextmanager
async def local_metronome(order: MetronomeOrder) -> AsyncIterator[str]:
    """Run a source as a child process on this machine: its pace must not depend on our event loop.

    Raises:
        NoSource: it did not start.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "stager.onhost.metronome",
        "0",
        str(order.step_ms),
        str(order.streams),
        order.mode.value,
        str(order.seconds),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        if child.stdout is None:
            raise NoSource("the calibration source has no output")
        line = await asyncio.wait_for(child.stdout.readline(), 15.0)
        yield f"http://127.0.0.1:{_port(line)}"
    except TimeoutError as error:
        raise NoSource("the calibration source did not start within 15 s") from error
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _port(line: bytes) -> int:
    try:
        return int(json.loads(line)["port"])
    except (ValueError, KeyError, TypeError) as error:
        raise NoSource("the calibration source ended before it said its port") from error
