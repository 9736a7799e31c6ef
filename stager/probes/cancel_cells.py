"""One cell of the cancel matrix: a client leaves in one phase, in one way, beside a neighbour.

Requests are streamed, or asked for as a whole (``plain``): there servers notice a client's leaving in other places, or
nowhere (BerriAI/litellm 37140, ROCm/ATOM 1562).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from stager.client.completion import Cut, How
from stager.client.record import Completion, Ended
from stager.client.ticks import ticks
from stager.engines.reading import Reading
from stager.probes.cancel_bench import Bench
from stager.probes.cancel_queue import Queue
from stager.probes.cancel_streams import Running, leaving, start
from stager.probes.cancel_watch import next_token, watch
from stager.probes.logbook import Logbook, broken, sketch

#: Share of a prompt's reading time after which its client leaves.
PREFILL_SHARE = 0.4
_DECODE_DELTAS = 4
_RACE_DELTAS = 8


class Phase(StrEnum):
    """What the engine is doing with a request when its client leaves, as the parameters name it."""

    DECODE = "decode"
    PREFILL = "prefill"
    QUEUED = "queued"

    @property
    def claim(self) -> str:
        """The claim about it."""
        return {"decode": "decoding", "prefill": "prefilling", "queued": "queued"}[self.value]


@dataclass(slots=True)
class Cell:
    """One experiment and everything that went wrong in it."""

    phase: Phase
    way: How
    plain: bool = False
    recovery_s: float | None = None
    next_ttft_s: float | None = None
    half_closed: str = ""
    left_ns: int | None = None
    ghost_until_ns: int = 0
    out_of_queue_s: float | None = None
    out_once_free_s: float | None = None
    samples: int = 0
    race: bool = False
    refuted: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Phase and way, as in the measurements."""
        return f"{self.phase.value}_{self.way.value.replace('-', '_')}{'_plain' if self.plain else ''}"


async def run_cell(bench: Bench, phase: Phase, way: How, book: Logbook, *, plain: bool = False) -> Cell:
    """Run one cell on an idle engine and leave it idle, or note that it is not."""
    cell = Cell(phase, way, plain)
    if phase is Phase.QUEUED:
        await _leave_queue(bench, cell, book)
    else:
        await _leave_slot(bench, cell, book)
    for gauge in bench.gauges:
        await _gauge_back(bench, cell, gauge, ticks(), lambda: 0)
    soon = await next_token(bench, cell.ghost_until_ns)
    cell.next_ttft_s = soon.ttft
    soon.note(cell.refuted.append, cell.doubted.append)
    return cell


async def _leave_slot(bench: Bench, cell: Cell, book: Logbook) -> None:
    """Let the victim's client leave while the victim holds a slot, and watch the engine let go of it.

    In an engine of one slot there is no neighbour where only time tells what the victim is at: it would wait behind it.
    """
    reading = cell.phase is Phase.PREFILL
    by_time = reading or cell.plain
    # Before the victim, so that it holds its slot when the victim comes.
    neighbour = start(bench, bench.neighbour()) if bench.beside or not by_time else None
    try:
        if neighbour is None or await neighbour.speaks(bench.timeout):
            decoding = bench.decoding_after(_DECODE_DELTAS)
            cut = leaving(
                cell.way,
                bench,
                after_deltas=None if by_time else _DECODE_DELTAS,
                after_s=PREFILL_SHARE * bench.prefill_s if reading else decoding if cell.plain else None,
            )
            request = bench.victim(cut, bench.prompt_tokens if reading else 0, stream=not cell.plain)
            victim = await start(bench, request).task
            left_ns = ticks()
            cell.ghost_until_ns = bench.ghost_until_ns(left_ns)
            _note_victim(cell, victim, cut, book)
            if bench.active:
                await _gauge_back(bench, cell, bench.active, left_ns, lambda: neighbour is not None and neighbour.runs)
        if neighbour is not None:
            await _judge_neighbour(bench, cell, neighbour)
    finally:
        if neighbour is not None:
            await neighbour.end()


async def _leave_queue(bench: Bench, cell: Cell, book: Logbook) -> None:
    """Let the victim's client leave while every slot is held by others, then free the slots."""
    leave = asyncio.Event()
    cut = leaving(cell.way, bench, on=leave)
    async with Queue.behind_held_slots(bench) as queue:
        if await queue.neighbour.speaks(bench.timeout):
            victim = start(bench, bench.victim(cut, stream=not cell.plain))
            queued = await queue.shows_it()
            cell.left_ns = ticks()
            leave.set()
            _note_victim(cell, await victim.task, cut, book)
            found = await queue.lets_go(cell.left_ns, seen=queued)
            cell.out_of_queue_s, cell.out_once_free_s = found.while_held_s, found.once_free_s
            cell.samples += found.samples
            cell.refuted += found.refuted
            cell.doubted += found.doubted
            await queue.free()
            cell.ghost_until_ns = bench.ghost_until_ns(ticks())  # it would begin only now
            if bench.active:
                await _gauge_back(bench, cell, bench.active, ticks(), lambda: queue.neighbour.runs)
        await _judge_neighbour(bench, cell, queue.neighbour)


def _note_victim(cell: Cell, victim: Completion, cut: Cut, book: Logbook) -> None:
    book.ended(victim)
    book.raw.setdefault("victims", []).append({"cell": cell.name, **sketch(victim)})
    times = [delta.at_ns for delta in victim.deltas]
    left_ns = cell.left_ns
    if cut.after_s is not None:
        left_ns = (victim.sent_ns or victim.started_ns) + round(cut.after_s * 1e9)
    before = sum(time < left_ns for time in times) if left_ns is not None else len(times)
    if cell.phase is not Phase.DECODE and before:
        cell.doubted.append("the request was decoding already when its client left")
    if cell.way is How.HALF_CLOSE:
        went_on = len(times) > before or len(times) > 2 * _DECODE_DELTAS
        cell.half_closed = "the server went on answering" if went_on else "the server ended the answer"
    _doubt_if_over(cell, victim)


def _doubt_if_over(cell: Cell, victim: Completion) -> None:
    """A client that found its request over already left nothing behind: whatever was seen then shows nothing."""
    if victim.ended is not Ended.CUT:
        why = victim.error or broken(victim) or f"finish reason {victim.finish_reason!r}"
        cell.doubted.append(f"the request was over before its client left: {why}")


async def _gauge_back(bench: Bench, cell: Cell, gauge: Reading, left_ns: int, allowed: Callable[[], float]) -> None:
    deadline = bench.deadline(reading=cell.phase is Phase.PREFILL)
    back = await watch(bench, gauge, left_ns, deadline, allowed)
    cell.samples += back.samples
    if back.seconds is None and back.last is None:
        cell.doubted.append(f"{gauge.where} did not answer")
    elif back.seconds is None:
        cell.refuted.append(f"{gauge.where} still read {back.last:g} {deadline:.2f} s after the client left")
    else:
        cell.recovery_s = max(cell.recovery_s or 0.0, back.seconds)


async def _judge_neighbour(bench: Bench, cell: Cell, neighbour: Running) -> None:
    """The neighbour must come to its own end, with every token, and say what it says undisturbed."""
    completion = await neighbour.task
    if why := broken(completion) or completion.error:
        cell.refuted.append(f"the neighbour's stream broke: {why}")
    elif completion.finish_reason != "length" or (completion.completion_tokens or 0) < 0.9 * neighbour.tokens:
        said = f"{completion.finish_reason!r} after {completion.completion_tokens} tokens"
        cell.refuted.append(f"the neighbour's stream ended early: {said} of {neighbour.tokens}")
    elif bench.neighbour_text is not None and not completion.content.startswith(bench.neighbour_text):
        cell.refuted.append("the neighbour said something else than undisturbed")


async def race(bench: Bench, rng: random.Random, ways: list[How], book: Logbook) -> Cell:
    """Fill every slot and let all clients leave at random moments of the decode."""
    cell = Cell(Phase.DECODE, ways[0], race=True)
    cuts = [leaving(rng.choice(ways), bench, after_deltas=rng.randint(1, _RACE_DELTAS)) for _ in range(bench.width)]
    victims = await asyncio.gather(*(start(bench, bench.victim(cut)).task for cut in cuts))
    left_ns = ticks()
    cell.ghost_until_ns = bench.ghost_until_ns(left_ns)
    for victim in victims:
        book.ended(victim)
        _doubt_if_over(cell, victim)
    for gauge in bench.gauges:
        await _gauge_back(bench, cell, gauge, left_ns, lambda: 0)
    return cell
