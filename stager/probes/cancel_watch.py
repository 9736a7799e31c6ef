"""Watching the engine let go: the gauge back where it must be, the next first token as soon as before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stager.client.completion import CompletionRequest
from stager.client.connection import connect
from stager.client.load import LoadResult, run_load
from stager.client.record import Completion
from stager.client.ticks import ticks
from stager.engines.reading import Reading
from stager.probes.ask import NO_ANSWER, ask
from stager.probes.cancel_bench import Bench, token_seconds
from stager.probes.logbook import broken
from stager.probes.requests import ask_once, limits_for

#: The next first token may take so much longer than its control (swama 116's control-TTFT method).
TTFT_FACTOR = 1.5
#: What a shared machine's scheduling may add to one first token, in seconds.
TTFT_SLACK_S = 0.1
#: The tokens after a late one may come so much slower than the control's before the machine is taken for what was slow;
#: a ghost slows them too where sequences take turns, so it counts only if they are as slow once no ghost can be left.
SLOWER = 1.5
#: A gauge is back when it reads so this many times in a row.
STEADY_READINGS = 3
#: Tries at a late first token before it refutes; and where the claim is refuted already, and only the cause is asked.
TRIES = 3
TRIES_FOR_THE_CAUSE = 1
_INTERVAL_S = 0.02


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


@dataclass(frozen=True, slots=True)
class Soon:
    """The best first token of a few tries (s), and why that is too late; ``slower``: the pace is, ghost or not."""

    ttft: float | None
    late: str = ""
    slower: bool = False

    def note(self, fail: Callable[[str], None], doubt: Callable[[str], None]) -> None:
        """Refute by what was late; doubt where tokens were slow without any ghost: it may have been the machine."""
        if self.late and self.slower:
            doubt(f"{self.late}; but with no ghost left tokens came slower too: the machine may be what was slow")
        elif self.late:
            fail(self.late)


def _may_try_again(bench: Bench, until_ns: int, waits: list[float], control: float) -> bool:
    """Whether a good first token would still clear the engine after these waits.

    It would while a ghost would be there; later only if no wait was so long that a ghost may have ended in it.
    """
    return ticks() < until_ns or max(waits) <= bench.grace + control


async def _until_no_ghost(bench: Bench, until_ns: int, begun_ns: int) -> None:
    """Wait until a ghost must be over, even one that stood still during our tries, and one of many that took turns."""
    apart = bench.victim_tokens * max(0.0, bench.wide_token_s - bench.token_s)
    over_ns = until_ns + (ticks() - begun_ns) + round(apart * 1e9)
    await asyncio.sleep(max(0.0, (over_ns - ticks()) / 1e9))


def slow(completions: Sequence[Completion], control: float) -> bool:
    """Whether all came slower than the control; one that broke or said nothing shows no pace, and excuses nothing."""
    return all(len(one.deltas) > 1 and token_seconds(one) > SLOWER * control for one in completions)


async def next_token(bench: Bench, until_ns: int) -> Soon:
    """Ask for a first token. A good one counts from the first try, or as long as a ghost would still be there."""
    late = TTFT_FACTOR * bench.ttft + TTFT_SLACK_S
    begun_ns = ticks()
    waits: list[float] = []
    paces: list[float] = []
    while len(waits) < TRIES and (not waits or _may_try_again(bench, until_ns, waits, bench.ttft)):
        completion = await ask_once(bench.target, bench.short(), bench.timeout)
        why = broken(completion) or completion.error
        if why or completion.ttft is None:
            return Soon(None, f"the next request brought no token: {why or 'the answer was empty'}")
        if completion.ttft <= late and (not waits or _may_try_again(bench, until_ns, waits, bench.ttft)):
            return Soon(completion.ttft)
        waits.append(completion.ttft)
        paces.append(token_seconds(completion))
    words = f"the next first token took {min(waits):.3f} s, its control {bench.ttft:.3f} s"
    if slower := min(paces) > SLOWER * bench.token_s:
        await _until_no_ghost(bench, until_ns, begun_ns)
        slower = slow([await ask_once(bench.target, bench.short(), bench.timeout)], bench.token_s)
    return Soon(min(waits), words, slower=slower)


async def full_width(bench: Bench, until_ns: int, tries: int = TRIES) -> Soon:
    """Fill every claimed slot at once: the slowest first token must be as soon as in the control; tries as before."""
    late = TTFT_FACTOR * bench.wide_ttft + TTFT_SLACK_S
    # Whoever has to wait must wait longer than what passes for noise, so each request holds its slot for longer.
    requests = [bench.short(2 * late) for _ in range(bench.width)]
    begun_ns = ticks()
    waits: list[float] = []
    paces: list[float] = []
    while len(waits) < tries and (not waits or _may_try_again(bench, until_ns, waits, bench.wide_ttft)):
        load = await _fill(bench, requests)
        times = [c.ttft for c in load.completions if c.ttft is not None]
        if len(times) < bench.width:
            return Soon(None, f"of {bench.width} requests at once {bench.width - len(times)} brought no token")
        if max(times) <= late and (not waits or _may_try_again(bench, until_ns, waits, bench.wide_ttft)):
            return Soon(max(times))
        waits.append(max(times))
        paces.append(min(token_seconds(c) for c in load.completions))
    waited = f"the last began after {min(waits):.3f} s, its control after {bench.wide_ttft:.3f} s"
    if slower := min(paces) > SLOWER * bench.wide_token_s:
        await _until_no_ghost(bench, until_ns, begun_ns)
        slower = slow((await _fill(bench, requests)).completions, bench.wide_token_s)
    return Soon(min(waits), f"of {bench.width} requests at once {waited}", slower=slower)


async def _fill(bench: Bench, requests: list[CompletionRequest]) -> LoadResult:
    return await run_load(bench.target.base_url, requests, bench.target.engine.warm, limits_for(512, bench.timeout))
