"""One phase of the cancel probe: its cells, the races while decoding, then the device and every slot at once."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterable

from stager.client.completion import How
from stager.client.ticks import ticks
from stager.probes.cancel_bench import Bench
from stager.probes.cancel_cells import Cell, Phase, race, run_cell
from stager.probes.cancel_watch import TRIES, TRIES_FOR_THE_CAUSE, full_width, next_token, watch
from stager.probes.logbook import Logbook
from stager.probes.target import Unseen

#: Percent by which a device may be busier afterwards than before: drivers and desktops do a little of their own.
DEVICE_SLACK = 20
#: nvidia-smi's utilisation is of the sample period before, up to a second by its manual.
_DEVICE_PERIOD_S = 1.0
_DEVICE_INTERVAL_S = 0.2


async def run_phase(bench: Bench, phase: Phase, ways: list[How], races: int, book: Logbook) -> None:
    """Run a phase's cells on an idle engine until one refutes the claim, and note everything in its book."""
    _note_bench(book, bench, reading=phase is Phase.PREFILL)
    if phase is Phase.QUEUED and bench.target.claims.slots is None:
        book.doubt("the playbook claims no slots, so no request is known to wait")
        return
    cells: list[Cell] = []
    for way in ways:
        cells.append(await run_cell(bench, phase, way, book))
        _note_cell(book, cells[-1])
        if book.refuted:
            break
    if phase is Phase.DECODE and races and not book.refuted:
        await _width(bench, cells, book)  # a race behind ghosts would only wait for them
        if not book.refuted:
            cells += await _races(bench, races, ways, book)
    await _afterwards(bench, cells, book)


async def run_unstreamed(bench: Bench, phases: Iterable[Phase], book: Logbook) -> None:
    """Let a client leave that asked for no stream, once in each phase, until that refutes the claim."""
    _note_bench(book, bench, reading=True)
    cells: list[Cell] = []
    for phase in phases:
        cells.append(await run_cell(bench, phase, How.CLOSE, book, plain=True))
        _note_cell(book, cells[-1])
        if book.refuted:
            break
    await _afterwards(bench, cells, book)


async def _afterwards(bench: Bench, cells: list[Cell], book: Logbook) -> None:
    if not book.refuted:
        await _device(bench, book)
    if "slots_still_held" not in book.raw and all(cell.next_ttft_s is not None or cell.race for cell in cells):
        await _width(bench, cells, book)  # tells a gauge that lies from a job that lives
    book.measure("gauge_samples", sum(cell.samples for cell in cells), "count")


async def rested(bench: Bench) -> str:
    """Say why an engine that failed a phase is not fit for the next one; empty if it is."""
    for gauge in bench.gauges:
        back = await watch(bench, gauge, ticks(), bench.deadline(reading=True), lambda: 0)
        if back.seconds is None:
            return f"{gauge.where} read {'nothing' if back.last is None else f'{back.last:g}'}"
    return (await next_token(bench, until_ns=0)).late


async def _races(bench: Bench, races: int, ways: list[How], book: Logbook) -> list[Cell]:
    cells: list[Cell] = []
    rng = random.Random()
    for _ in range(math.ceil(races / bench.width) if ways else 0):
        cell = await race(bench, rng, ways, book)
        cells.append(cell)
        for reason in cell.refuted:
            book.fail(f"race: {reason}")
        for reason in cell.doubted:
            book.doubt(f"race: {reason}")
        if book.refuted:
            break
    book.measure("races", len(cells) * bench.width, "count")
    return cells


async def _width(bench: Bench, cells: list[Cell], book: Logbook) -> None:
    """Fill all slots at once: whoever has to wait finds a slot still held, whatever the gauge says."""
    ghost_until_ns = max((cell.ghost_until_ns for cell in cells), default=0)
    soon = await full_width(bench, ghost_until_ns, TRIES_FOR_THE_CAUSE if book.refuted else TRIES)
    book.measure("full_width_ttft", soon.ttft, "s")
    soon.note(lambda late: book.fail(f"slots are still held: {late}"), book.doubt)
    if soon.late:
        book.raw["slots_still_held"] = soon.late
    elif book.refuted:
        book.raw["full_width"] = "all slots were free again, so a gauge that stays high is itself untrue"
        book.measure("slots_free_again", True, "bool")


async def _device(bench: Bench, book: Logbook) -> None:
    """A device that never comes down to its idle reading refutes; one that does confirms nothing."""
    if bench.target.device_busy is None or bench.idle_busy is None:
        return
    within = bench.deadline(reading=True) + _DEVICE_PERIOD_S
    end = ticks() + round(within * 1e9)
    least: int | None = None
    while ticks() < end and (least is None or least > bench.idle_busy + DEVICE_SLACK):
        try:
            now = await bench.target.device_busy()
        except Unseen:
            break  # what could be read on the idle engine and cannot be now says nothing
        least = now if least is None else min(least, now)
        await asyncio.sleep(_DEVICE_INTERVAL_S)
    book.measure("device_busy_idle", bench.idle_busy, "%")
    book.measure("device_busy_afterwards", least, "%")
    if least is not None and least > bench.idle_busy + DEVICE_SLACK:
        book.fail(
            f"the device was never less than {least} % busy within {within:.2f} s after the last client left; "
            f"idle it was {bench.idle_busy} % busy"
        )


def _note_bench(book: Logbook, bench: Bench, *, reading: bool) -> None:
    book.measure("ttft_control", bench.ttft, "s")
    book.measure("full_width_ttft_control", bench.wide_ttft, "s")
    book.measure("prefill_control", bench.prefill_s, "s")
    book.measure("deadline", bench.deadline(reading=reading), "s")
    book.measure("neighbour_comparable", bench.neighbour_text is not None, "bool")
    if not bench.ghost_would_show:
        lives = bench.victim_tokens * bench.token_s
        book.doubt(f"a job of {bench.victim_tokens} tokens ends by itself after {lives:.1f} s: no ghost could show")


def _note_cell(book: Logbook, cell: Cell) -> None:
    book.measure(f"{cell.name}_recovery", cell.recovery_s, "s")
    book.measure(f"{cell.name}_next_ttft", cell.next_ttft_s, "s")
    if cell.phase is Phase.QUEUED:
        book.measure(f"{cell.name}_out_of_queue", cell.out_of_queue_s, "s")
        if cell.out_once_free_s is not None:
            book.measure(f"{cell.name}_out_of_queue_once_slots_were_free", cell.out_once_free_s, "s")
    if cell.half_closed:
        book.measure(f"{cell.name}_answer", cell.half_closed, "words")
    for reason in cell.refuted:
        book.fail(f"{cell.name}: {reason}")
    for reason in cell.doubted:
        book.doubt(f"{cell.name}: {reason}")
