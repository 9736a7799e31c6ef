"""One cell of the cancel matrix: a client leaves in one phase, in one way, beside a neighbour."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from stager.client.completion import Cut, How
from stager.client.record import Completion
from stager.client.ticks import ticks
from stager.engines.reading import Reading
from stager.probes.cancel_bench import NEIGHBOUR_TOKENS, Bench, Running, leaving, start
from stager.probes.cancel_watch import next_token, seen_waiting, watch
from stager.probes.logbook import Logbook, broken, sketch

#: Share of a prompt's reading time after which its client leaves.
PREFILL_SHARE = 0.4
_DECODE_DELTAS = 4
_RACE_DELTAS = 8


class Phase(StrEnum):
    """What the engine is doing with a request when its client leaves."""

    DECODE = "decode"
    PREFILL = "prefill"
    QUEUED = "queued"


@dataclass(slots=True)
class Cell:
    """One experiment and everything that went wrong in it."""

    phase: Phase
    way: How
    recovery_s: float | None = None
    next_ttft_s: float | None = None
    half_closed: str = ""
    left_ns: int | None = None
    out_of_queue_s: float | None = None
    stayed_queued: bool = False
    samples: int = 0
    race: bool = False
    refuted: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Phase and way, as in the measurements."""
        return f"{self.phase.value}_{self.way.value.replace('-', '_')}"


async def run_cell(bench: Bench, phase: Phase, way: How, prompt_tokens: int, book: Logbook) -> Cell:
    """Run one cell on an idle engine and leave it idle, or note that it is not."""
    cell = Cell(phase, way)
    release = asyncio.Event()
    blockers = await _fill(bench, release) if phase is Phase.QUEUED else []
    neighbour = start(bench, bench.neighbour())  # last, so that it still holds its slot when the victim comes
    try:
        if await neighbour.speaks(bench.timeout):
            await _leave(bench, cell, neighbour, prompt_tokens, book)
        if blockers:
            await _free(blockers, release)
            await _gauge_back(bench, cell, bench.active, ticks(), lambda: not neighbour.task.done())
        await _judge_neighbour(bench, cell, neighbour)
    finally:
        neighbour.task.cancel()
        await asyncio.gather(neighbour.task, return_exceptions=True)
        await _free(blockers, release)
    await _gauge_back(bench, cell, bench.active, ticks(), lambda: 0)
    cell.next_ttft_s, why = await next_token(bench)
    if why:
        cell.refuted.append(why)
    return cell


async def _fill(bench: Bench, release: asyncio.Event) -> list[Running]:
    """Occupy all claimed slots but one with long jobs; their clients leave when released."""
    blockers = [start(bench, bench.victim(Cut(How.CLOSE, on=release))) for _ in range(bench.width - 1)]
    for blocker in blockers:
        await blocker.speaks(bench.timeout)
    return blockers


async def _free(blockers: list[Running], release: asyncio.Event) -> None:
    release.set()
    await asyncio.gather(*(blocker.task for blocker in blockers), return_exceptions=True)


async def _leave(bench: Bench, cell: Cell, neighbour: Running, prompt_tokens: int, book: Logbook) -> None:
    """Let the victim's client leave at the phase's moment, and watch the gauge of that phase come back."""
    waits = asyncio.Event()
    reading = cell.phase is Phase.PREFILL
    cut = leaving(
        cell.way,
        bench,
        after_deltas=_DECODE_DELTAS if cell.phase is Phase.DECODE else None,
        after_s=PREFILL_SHARE * bench.prefill_s if reading else None,
        on=waits if cell.phase is Phase.QUEUED else None,
    )
    victim = start(bench, bench.victim(cut, prompt_tokens if reading else 0))
    if cell.phase is Phase.QUEUED:
        await seen_waiting(bench)
        cell.left_ns = ticks()
        waits.set()
    completion = await victim.task
    left_ns = ticks()
    _note_victim(cell, completion, cut, book)
    if cell.phase is not Phase.QUEUED:
        await _gauge_back(bench, cell, bench.active, left_ns, lambda: not neighbour.task.done())
    elif bench.waiting is not None:
        # Staying in the queue holds no slot, so it is told and not held against the engine; what follows is.
        back = await watch(bench, bench.waiting, left_ns, bench.deadline(reading=False), lambda: 0)
        cell.samples += back.samples
        cell.out_of_queue_s, cell.stayed_queued = back.seconds, back.seconds is None


def _note_victim(cell: Cell, victim: Completion, cut: Cut, book: Logbook) -> None:
    book.ended(victim)
    book.raw.setdefault("victims", []).append({"cell": cell.name, **sketch(victim)})
    times = [delta.at_ns for delta in victim.deltas]
    left_ns = cell.left_ns
    if cut.after_s is not None:
        left_ns = (victim.sent_ns or victim.started_ns) + round(cut.after_s * 1e9)
    before = sum(time < left_ns for time in times) if left_ns is not None else len(times)
    if cell.phase is not Phase.DECODE and before:
        cell.doubted.append(f"{cell.name}: the request was decoding already when its client left")
    if cell.way is How.HALF_CLOSE:
        went_on = len(times) > before or len(times) > 2 * _DECODE_DELTAS
        cell.half_closed = "the server went on answering" if went_on else "the server ended the answer"
    if (victim.status or 200) >= 400:
        cell.doubted.append(f"{cell.name}: the request was refused with status {victim.status}")


async def _gauge_back(
    bench: Bench, cell: Cell, reading: Reading | None, left_ns: int, allowed: Callable[[], float]
) -> None:
    if reading is None:
        return
    deadline = bench.deadline(reading=cell.phase is Phase.PREFILL)
    back = await watch(bench, reading, left_ns, deadline, allowed)
    cell.samples += back.samples
    if back.seconds is None and back.last is None:
        cell.doubted.append(f"{cell.name}: {reading.where} did not answer")
    elif back.seconds is None:
        cell.refuted.append(f"{reading.where} still read {back.last:g} {deadline:.2f} s after the client left")
    else:
        cell.recovery_s = max(cell.recovery_s or 0.0, back.seconds)


async def _judge_neighbour(bench: Bench, cell: Cell, neighbour: Running) -> None:
    """The neighbour must come to its own end, with every token, and say what it says undisturbed."""
    completion = await neighbour.task
    if why := broken(completion) or completion.error:
        cell.refuted.append(f"the neighbour's stream broke: {why}")
    elif completion.finish_reason != "length" or (completion.completion_tokens or 0) < 0.9 * NEIGHBOUR_TOKENS:
        said = f"{completion.finish_reason!r} after {completion.completion_tokens} tokens"
        cell.refuted.append(f"the neighbour's stream ended early: {said} of {NEIGHBOUR_TOKENS}")
    elif bench.neighbour_text is not None and completion.content != bench.neighbour_text:
        cell.refuted.append("the neighbour said something else than undisturbed")


async def race(bench: Bench, rng: random.Random, ways: list[How], book: Logbook) -> Cell:
    """Fill every slot and let all clients leave at random moments of the decode."""
    cell = Cell(Phase.DECODE, ways[0], race=True)
    cuts = [leaving(rng.choice(ways), bench, after_deltas=rng.randint(1, _RACE_DELTAS)) for _ in range(bench.width)]
    victims = await asyncio.gather(*(start(bench, bench.victim(cut)).task for cut in cuts))
    left_ns = ticks()
    for victim in victims:
        book.ended(victim)
    await _gauge_back(bench, cell, bench.active, left_ns, lambda: 0)
    return cell
