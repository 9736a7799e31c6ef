"""A client that leaves must leave nothing behind: no job, no broken neighbour, no later first token.

One claim for each thing an engine may be doing with a request when its client leaves: ``decoding``, ``prefilling``,
``queued``; each by close, reset and half-close. While decoding also races: all slots left at once, repeatedly. All that
is streamed; ``unstreamed`` is the claim for clients that asked for no stream, once in each phase, by an orderly close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from stager.client.completion import How
from stager.models.base import Model
from stager.models.evidence import ConfiguredField
from stager.probes.ask import configured_fields, gauge_words
from stager.probes.base import ProbeResult
from stager.probes.cancel_bench import OUTLASTS, STEP_TOKENS, Bench, NoBench, take_bench
from stager.probes.cancel_cells import Phase
from stager.probes.cancel_limits import UNSTREAMED, not_proven
from stager.probes.cancel_phase import DEVICE_SLACK, rested, run_phase, run_unstreamed
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

    ``streamed``, ``unstreamed``: whether clients leave that asked for a stream, and such that asked for none.
    ``deadline`` is how long after its client left a job may still show (default: the engine's cancel grace), besides
    the step it is in (``Bench.deadline``). A phase that is left out gets no finding.
    """

    phases: Phases = tuple(Phase)
    ways: Ways = tuple(How)
    streamed: bool = True
    unstreamed: bool = True
    races: Annotated[int, Field(ge=0, le=1000)] = RACES
    prompt_tokens: Annotated[int, Field(ge=64)] | None = None
    deadline: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S

    @model_validator(mode="after")
    def _some_client_leaves(self) -> Self:
        if not (self.streamed or self.unstreamed):
            raise ValueError("streamed and unstreamed are both false: no client would leave")
        return self


class CancelProbe:
    """Lets clients leave in every phase and way, and watches the gauges, a neighbour and the next first token."""

    name = "cancel"
    version = 4
    claims = (*(phase.claim for phase in Phase), UNSTREAMED)
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
        """One claim for each phase that is to be run, and one for requests without a stream if they are wanted."""
        phases = tuple(phase.claim for phase in Phase if parameters.streamed and phase in parameters.phases)
        return (*phases, UNSTREAMED) if parameters.unstreamed else phases

    def time_limit(self, parameters: CancelParameters) -> float:
        """A cell is at most four answers; ten for the controls and the races, four between phases."""
        phases = len(parameters.phases)
        cells = parameters.streamed * len(parameters.ways) + parameters.unstreamed
        return (4 * phases * cells + 4 * phases + 10) * parameters.timeout

    async def run(self, target: Target, parameters: CancelParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for each claim that was asked for."""
        grace = parameters.deadline or target.engine.cancel_grace
        prompt_tokens = parameters.prompt_tokens or min(PREFILL_TOKENS, (target.claims.context or PREFILL_TOKENS) // 2)
        ways = [way for way in parameters.ways if _measurable(target, way)]
        books = {claim: Logbook(claim, parameters) for claim in self.asked(parameters)}
        bench: Bench | None = None
        try:
            bench = await take_bench(target, parameters.timeout, grace, prompt_tokens)
            await _phases(bench, parameters, ways, books)
        except NoBench as error:
            for book in books.values():
                book.fault(f"the controls broke: {error}")
                book.ended(error.completion)
        configured = await configured_fields(target)
        return tuple(_close(book, target, parameters, ways, bench, configured) for book in books.values())


async def _phases(bench: Bench, parameters: CancelParameters, ways: list[How], books: Mapping[str, Logbook]) -> None:
    """Run one claim's experiment after the other; after one that failed only if the engine came to rest."""
    failed: Logbook | None = None
    phases = {phase.claim: phase for phase in Phase}
    for claim, book in books.items():
        if failed and (why := await rested(bench)):
            book.doubt(f"not tried: the engine had not come to rest after {failed.claim} failed: {why}")
            continue
        if claim == UNSTREAMED:
            await run_unstreamed(bench, _unstreamed_phases(bench, parameters), book)
        else:
            await run_phase(bench, phases[claim], ways, parameters.races, book)
        failed = book if book.refuted else None


def _unstreamed_phases(bench: Bench, parameters: CancelParameters) -> list[Phase]:
    """The phases that can be left without a stream: a queue nobody can see is named as not proven instead."""
    unseen = bench.waiting is None or bench.target.claims.slots is None
    return [phase for phase in Phase if phase in parameters.phases and not (phase is Phase.QUEUED and unseen)]


def _measurable(target: Target, way: How) -> bool:
    """An SSH forward turns every way of leaving into its own: only an orderly close is known to arrive as one."""
    return target.path == "direct" or way is How.CLOSE


def _close(
    book: Logbook,
    target: Target,
    parameters: CancelParameters,
    ways: list[How],
    bench: Bench | None,
    configured: tuple[ConfiguredField, ...],
) -> ProbeResult:
    cancels = len(book.streams) if bench else 0
    skipped = [] if book.claim == UNSTREAMED else [way for way in parameters.ways if way not in ways]
    book.measure("cancels", cancels, "count")
    gauges = "; ".join(gauge_words(target.engine, gauge) for gauge in bench.gauges) if bench else "no gauge"
    return book.result(
        target,
        sampled=f"{_sampled(book, parameters)}; {gauges or 'no gauge'}; a neighbour; the next first token",
        sample_count=cancels,
        ended_because=_ended(book, ways),
        not_proven=not_proven(book.claim, target, bench, races=parameters.races, skipped=skipped),
        configured=configured,
    )


def _sampled(book: Logbook, parameters: CancelParameters) -> str:
    if book.claim != UNSTREAMED:
        return f"streamed requests whose client left while they were {book.claim}"
    phases = ", ".join(phase.claim for phase in parameters.phases)
    return f"requests for no stream, whose client left while they were {phases}"


def _ended(book: Logbook, ways: list[How]) -> str:
    if not ways and book.claim != UNSTREAMED:
        return "no way of leaving can be measured from here"
    return "a cell refuted the claim, the rest was not tried" if book.refuted else "all cells were run"
