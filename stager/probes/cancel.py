"""A client that leaves must leave nothing behind: no job, no broken neighbour, no later first token.

The matrix is {decode, prefill, queued} by {close, reset, half-close}; then races: all slots left at once, repeatedly.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import How
from stager.models.base import Model
from stager.probes.ask import configured_fields, gauge_words
from stager.probes.base import ProbeResult
from stager.probes.cancel_bench import OUTLASTS, Bench, NoBench, take_bench
from stager.probes.cancel_cells import Cell, Phase, race, run_cell
from stager.probes.cancel_watch import STEADY_READINGS, TTFT_FACTOR, TTFT_SLACK_S, full_width
from stager.probes.logbook import Logbook
from stager.probes.target import Target

#: A race lost one time in ten shows with 90 % in 22 cancels; sglang 36876 needed repeats to show at all.
RACES = 20
PREFILL_TOKENS = 2048
TIMEOUT_S = 120.0

Phases = Annotated[tuple[Annotated[Phase, Field(strict=False)], ...], Field(min_length=1, strict=False)]
Ways = Annotated[tuple[Annotated[How, Field(strict=False)], ...], Field(min_length=1, strict=False)]


class CancelParameters(Model):
    """Which cells to run, how many racing cancels, the prefill's length, and seconds.

    ``deadline`` is how long after its client left a job may still show (default: the engine's cancel grace), besides
    the step it is in: engines look for disconnects between steps, and reading a prompt may be a single one.
    """

    phases: Phases = tuple(Phase)
    ways: Ways = tuple(How)
    races: Annotated[int, Field(ge=0, le=1000)] = RACES
    prompt_tokens: Annotated[int, Field(ge=64)] | None = None
    deadline: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class CancelProbe:
    """Lets clients leave in every phase and way, and watches the gauge, a neighbour and the next first token."""

    name = "cancel"
    version = 1
    claims = ("released",)
    parameters = CancelParameters
    thresholds: Mapping[str, Any] = {
        "ttft_factor": TTFT_FACTOR,
        "ttft_slack_s": TTFT_SLACK_S,
        "steady_readings": STEADY_READINGS,
        "outlasts": OUTLASTS,
        "races": RACES,
    }

    def time_limit(self, parameters: CancelParameters) -> float:
        """A cell is at most four answers; ten for the controls and the races."""
        return (4 * len(parameters.phases) * len(parameters.ways) + 10) * parameters.timeout

    async def run(self, target: Target, parameters: CancelParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``released``."""
        book = Logbook("released", parameters)
        grace = parameters.deadline or target.engine.cancel_grace
        prompt_tokens = parameters.prompt_tokens or min(PREFILL_TOKENS, (target.claims.context or PREFILL_TOKENS) // 2)
        ways = [way for way in parameters.ways if _measurable(target, way)]
        cancels, samples, gauge = 0, 0, "no gauge"
        try:
            bench = await take_bench(target, parameters.timeout, grace, prompt_tokens, book)
            gauge = gauge_words(target.engine, bench.active)
            _note_bench(book, bench)
            cells = await _matrix(bench, parameters, ways, prompt_tokens, book)
            cells += await _races(bench, parameters, ways, book)
            if all(cell.next_ttft_s is not None or cell.race for cell in cells):
                await _width(bench, book)  # tells a gauge that lies from a job that lives
            cancels, samples = len(book.streams), sum(cell.samples for cell in cells)
        except NoBench as error:
            book.fault(f"the controls broke: {error}")
        book.measure("cancels", cancels, "count")
        book.measure("gauge_samples", samples, "count")
        return (
            book.result(
                target,
                sampled=f"requests whose client left in mid-work; {gauge}; a neighbour; the next first token",
                sample_count=cancels,
                ended_because=_ended(book, ways),
                not_proven=_not_proven(target, parameters, ways, gauge, grace, stayed=_stayed(book)),
                configured=await configured_fields(target),
            ),
        )


def _measurable(target: Target, way: How) -> bool:
    """An SSH forward turns every way of leaving into its own: only an orderly close is known to arrive as one."""
    return target.path == "direct" or way is How.CLOSE


async def _matrix(
    bench: Bench, parameters: CancelParameters, ways: list[How], prompt_tokens: int, book: Logbook
) -> list[Cell]:
    cells: list[Cell] = []
    for phase in parameters.phases:
        if phase is Phase.QUEUED and bench.target.claims.slots is None:
            book.doubt("queued: the playbook claims no slots, so no request is known to wait")
            continue
        for way in ways:
            cell = await run_cell(bench, phase, way, prompt_tokens, book)
            cells.append(cell)
            _note_cell(book, cell)
            if book.refuted:
                return cells
        await _width(bench, book)
        if book.refuted:
            return cells
    return cells


async def _races(bench: Bench, parameters: CancelParameters, ways: list[How], book: Logbook) -> list[Cell]:
    cells: list[Cell] = []
    rng = random.Random()
    for _ in range(math.ceil(parameters.races / bench.width) if ways and not book.refuted else 0):
        cell = await race(bench, rng, ways, book)
        cells.append(cell)
        for reason in cell.refuted:
            book.fail(f"race: {reason}")
        if book.refuted:
            break
    book.measure("races", len(cells) * bench.width, "count")
    return cells


async def _width(bench: Bench, book: Logbook) -> None:
    """Fill all slots at once: whoever has to wait finds a slot still held, whatever the gauge says."""
    worst, why = await full_width(bench)
    book.measure("full_width_ttft", worst, "s")
    if why:
        book.fail(f"slots are still held: {why}")
    elif book.refuted:
        book.raw["full_width"] = "all slots were free again, so a gauge that stays high is itself untrue"
        book.measure("slots_free_again", True, "bool")


def _note_bench(book: Logbook, bench: Bench) -> None:
    book.measure("ttft_control", bench.ttft, "s")
    book.measure("full_width_ttft_control", bench.wide_ttft, "s")
    book.measure("prefill_control", bench.prefill_s, "s")
    book.measure("deadline_decoding", bench.deadline(reading=False), "s")
    book.measure("deadline_reading", bench.deadline(reading=True), "s")
    book.measure("neighbour_comparable", bench.neighbour_text is not None, "bool")
    if not bench.ghost_would_show:
        lives = bench.victim_tokens * bench.token_s
        book.doubt(f"a job of {bench.victim_tokens} tokens ends by itself after {lives:.1f} s: no ghost could show")


def _note_cell(book: Logbook, cell: Cell) -> None:
    book.measure(f"{cell.name}_recovery", cell.recovery_s, "s")
    book.measure(f"{cell.name}_next_ttft", cell.next_ttft_s, "s")
    if cell.phase is Phase.QUEUED:
        book.measure(f"{cell.name}_out_of_queue", cell.out_of_queue_s, "s")
        book.measure(f"{cell.name}_stayed_queued", cell.stayed_queued, "bool")
    if cell.half_closed:
        book.measure(f"{cell.name}_answer", cell.half_closed, "words")
    for reason in cell.refuted:
        book.fail(f"{cell.name}: {reason}")
    for reason in cell.doubted:
        book.doubt(reason)


def _stayed(book: Logbook) -> bool:
    return any(m.value is True for name, m in book.measurements.items() if name.endswith("_stayed_queued"))


def _ended(book: Logbook, ways: list[How]) -> str:
    if not ways:
        return "no way of leaving can be measured from here"
    return "a cell refuted the claim, the rest was not tried" if book.refuted else "all cells and races were run"


def _not_proven(
    target: Target, parameters: CancelParameters, ways: list[How], gauge: str, grace: float, *, stayed: bool
) -> tuple[str, ...]:
    skipped = " and ".join(way.value for way in parameters.ways if way not in ways)
    limits = [
        "that no device work is left: an idle gauge or device confirms nothing by itself",
        "that cache pages are free, where the engine keeps a pool of fixed size: only slots and times were seen",
        f"races rarer than the {parameters.races} cancels tried, and jobs that come back after {grace:g} s",
        "when, within the step it was in, a job ended: an engine may read a prompt to its end before it lets go",
    ]
    if stayed:
        limits.append("that a queued request is dropped while it waits: it stayed in the queue until a slot was free")
    if skipped:
        limits.append(f"{skipped}: not measurable through an SSH forward, which ends connections in its own way")
    if gauge.startswith("no gauge"):
        limits.append("that the engine's own count comes down: it shows none here")
    if target.path == "direct":
        limits.append("anything about disconnects through a proxy in between")
    return tuple(limits)
