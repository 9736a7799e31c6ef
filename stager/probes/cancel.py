"""A client that leaves must leave nothing behind: no job, no broken neighbour, no later first token.

One claim for each thing an engine may be doing with a request when its client leaves: ``decoding``, ``prefilling``,
``queued``; each by close, reset and half-close, and once without a stream. While decoding also races: all slots left at
once, repeatedly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import How
from stager.models.base import Model
from stager.models.evidence import ConfiguredField
from stager.probes.ask import configured_fields, gauge_words
from stager.probes.base import ProbeResult
from stager.probes.cancel_bench import OUTLASTS, STEP_TOKENS, Bench, NoBench, take_bench
from stager.probes.cancel_cells import Phase
from stager.probes.cancel_phase import DEVICE_SLACK, rested, run_phase
from stager.probes.cancel_watch import SLOWER, STEADY_READINGS, TTFT_FACTOR, TTFT_SLACK_S
from stager.probes.logbook import Logbook
from stager.probes.target import Target

#: A race lost one time in ten shows with 90 % in 22 cancels; sglang 36876 needed repeats to show at all.
RACES = 20
PREFILL_TOKENS = 2048
TIMEOUT_S = 120.0

Phases = Annotated[tuple[Annotated[Phase, Field(strict=False)], ...], Field(min_length=1, strict=False)]
Ways = Annotated[tuple[Annotated[How, Field(strict=False)], ...], Field(min_length=1, strict=False)]


class CancelParameters(Model):
    """Which phases and ways to run, how many racing cancels, the prefill's length, and seconds.

    ``plain``: whether each phase is also left once, by an orderly close, by a client that asked for no stream.
    ``deadline`` is how long after its client left a job may still show (default: the engine's cancel grace), besides
    the step it is in (``Bench.deadline``). A phase that is left out gets no finding.
    """

    phases: Phases = tuple(Phase)
    ways: Ways = tuple(How)
    plain: bool = True
    races: Annotated[int, Field(ge=0, le=1000)] = RACES
    prompt_tokens: Annotated[int, Field(ge=64)] | None = None
    deadline: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class CancelProbe:
    """Lets clients leave in every phase and way, and watches the gauges, a neighbour and the next first token."""

    name = "cancel"
    version = 4
    claims = tuple(phase.claim for phase in Phase)
    parameters = CancelParameters
    thresholds: Mapping[str, Any] = {
        "ttft_factor": TTFT_FACTOR,
        "ttft_slack_s": TTFT_SLACK_S,
        "slower": SLOWER,
        "steady_readings": STEADY_READINGS,
        "outlasts": OUTLASTS,
        "step_tokens": STEP_TOKENS,
        "device_slack": DEVICE_SLACK,
        "races": RACES,
    }

    def asked(self, parameters: CancelParameters) -> tuple[str, ...]:
        """One claim for each phase that is to be run."""
        return tuple(phase.claim for phase in Phase if phase in parameters.phases)

    def time_limit(self, parameters: CancelParameters) -> float:
        """A cell is at most four answers; ten for the controls and the races, four between phases."""
        phases = len(parameters.phases)
        cells = len(parameters.ways) + parameters.plain
        return (4 * phases * cells + 4 * phases + 10) * parameters.timeout

    async def run(self, target: Target, parameters: CancelParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for each phase that was asked for."""
        grace = parameters.deadline or target.engine.cancel_grace
        prompt_tokens = parameters.prompt_tokens or min(PREFILL_TOKENS, (target.claims.context or PREFILL_TOKENS) // 2)
        ways = [way for way in parameters.ways if _measurable(target, way)]
        books = {phase: Logbook(phase.claim, parameters) for phase in Phase if phase in parameters.phases}
        bench: Bench | None = None
        try:
            bench = await take_bench(target, parameters.timeout, grace, prompt_tokens)
            await _phases(bench, parameters, ways, books)
        except NoBench as error:
            for book in books.values():
                book.fault(f"the controls broke: {error}")
                book.ended(error.completion)
        configured = await configured_fields(target)
        return tuple(_close(book, phase, target, parameters, ways, bench, configured) for phase, book in books.items())


async def _phases(bench: Bench, parameters: CancelParameters, ways: list[How], books: Mapping[Phase, Logbook]) -> None:
    """Run one phase after the other; after one that failed only if the engine came to rest."""
    failed: Logbook | None = None
    for phase, book in books.items():
        if failed and (why := await rested(bench)):
            book.doubt(f"not tried: the engine had not come to rest after {failed.claim} failed: {why}")
            continue
        await run_phase(bench, phase, ways, parameters.races, book, plain=parameters.plain)
        failed = book if book.refuted else None


def _measurable(target: Target, way: How) -> bool:
    """An SSH forward turns every way of leaving into its own: only an orderly close is known to arrive as one."""
    return target.path == "direct" or way is How.CLOSE


def _close(
    book: Logbook,
    phase: Phase,
    target: Target,
    parameters: CancelParameters,
    ways: list[How],
    bench: Bench | None,
    configured: tuple[ConfiguredField, ...],
) -> ProbeResult:
    cancels = len(book.streams) if bench else 0
    book.measure("cancels", cancels, "count")
    gauges = "; ".join(gauge_words(target.engine, gauge) for gauge in bench.gauges) if bench else "no gauge"
    return book.result(
        target,
        sampled=f"requests whose client left while they were {phase.claim}; {gauges or 'no gauge'}; a neighbour; "
        "the next first token",
        sample_count=cancels,
        ended_because=_ended(book, ways),
        not_proven=_not_proven(phase, target, parameters, ways, bench),
        configured=configured,
    )


def _ended(book: Logbook, ways: list[How]) -> str:
    if not ways:
        return "no way of leaving can be measured from here"
    return "a cell refuted the claim, the rest was not tried" if book.refuted else "all cells were run"


def _not_proven(
    phase: Phase, target: Target, parameters: CancelParameters, ways: list[How], bench: Bench | None
) -> tuple[str, ...]:
    skipped = " and ".join(way.value for way in parameters.ways if way not in ways)
    limits = [
        "that no device work is left: an idle gauge or device confirms nothing by itself",
        "that cache pages are free, where the engine keeps a pool of fixed size: only slots and times were seen",
    ]
    match phase:
        case Phase.DECODE:
            limits.append(f"races rarer than the {parameters.races} cancels tried, and jobs that come back later")
        case Phase.PREFILL:
            limits.append("when, within the step it was in, a job ended: engines look for disconnects between steps")
            if bench and not bench.beside:
                limits.append(
                    "that a neighbour goes on undisturbed: beside the only claimed slot there is room for none"
                )
        case Phase.QUEUED:
            limits.append("queues of more than one request")
            if bench and bench.waiting is None:
                limits.append("that it is dropped while it waits: the engine shows no gauge of its queue")
    if not parameters.plain:
        limits.append("requests whose answer is asked for as a whole, not as a stream")
    if skipped:
        limits.append(f"{skipped}: not measurable through an SSH forward, which ends connections in its own way")
    if bench and bench.idle_busy is None:
        limits.append(f"whether the device comes to rest: {bench.device_unseen}")
    if bench and bench.active is None:
        limits.append("that the engine's own count comes down: it shows none here")
    if target.path == "direct":
        limits.append("anything about disconnects through a proxy in between")
    return tuple(limits)
