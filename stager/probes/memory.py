"""Device memory against prompt length where it can be read, and back to its floor after each end, also a cut one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.completion import CompletionRequest, Cut, How
from stager.client.sampler import sampling
from stager.client.ticks import ticks
from stager.models.base import Model
from stager.probes.ask import configured_fields
from stager.probes.base import ProbeResult
from stager.probes.counting import NoCount, sentences, take_measure
from stager.probes.logbook import Logbook, sketch
from stager.probes.memory_fit import FLOOR_SHARE, FLOOR_SLACK, above_floor, fit
from stager.probes.requests import ask_once, chat_request
from stager.probes.target import DeviceMemory, Target, Unseen

#: Lengths at which memory is read; four points made mlxcel 1163's line.
POINTS = 4
#: Share of the claimed window the longest prompt takes.
WINDOW_SHARE = 0.5
UNKNOWN_WINDOW_TOKENS = 2048
MAX_TOKENS = 24
BACK_WITHIN_S = 5.0
TIMEOUT_S = 300.0
_INTERVAL_S = 0.02


class MemoryParameters(Model):
    """Longest prompt (default: half the window), number of lengths, seconds to the floor and for an answer."""

    prompt_tokens: Annotated[int, Field(ge=200)] | None = None
    points: Annotated[int, Field(ge=2, le=64)] = POINTS
    back_within: Annotated[float, Field(gt=0)] = BACK_WITHIN_S
    timeout: Annotated[float, Field(gt=0)] = TIMEOUT_S


class MemoryProbe:
    """Reads device memory under prompts of growing length, and after each whether it came back."""

    name = "memory"
    version = 2
    claims = ("returned",)
    parameters = MemoryParameters
    thresholds: Mapping[str, Any] = {"floor_slack_bytes": FLOOR_SLACK, "floor_share": FLOOR_SHARE}

    def time_limit(self, parameters: MemoryParameters) -> float:
        """Each length, one cut, the counting; and after each the wait for the floor."""
        return (parameters.points + 3) * (parameters.timeout + parameters.back_within) + 20

    async def run(self, target: Target, parameters: MemoryParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``returned``."""
        book = Logbook("returned", parameters)
        readings = 0

        async def read() -> int:
            nonlocal readings
            if target.device_memory is None:
                raise Unseen("this client has no way to read it")
            held = await target.device_memory()
            readings += 1
            return held

        try:
            await read()
            ended = await _experiment(target, read, parameters, book)
        except Unseen as error:
            ended = "reading ended" if readings else "nothing could be read"
            still = f"be read any more, after {readings} readings" if readings else "be read"
            book.doubt(f"the candidate's device memory cannot {still}: {error}")
        except NoCount as error:
            ended = "no length could be aimed at"
            error.note(book, "the prompts' lengths cannot be aimed at")
        return (
            book.result(
                target,
                sampled="device memory of the candidate's process tree, under prompts of growing length and after each",
                sample_count=readings,
                ended_because=ended,
                not_proven=(
                    "that no job is left: an engine that keeps a pool of fixed size shows no change whatever runs",
                    "memory inside the engine's own pool, and host memory",
                    "growth over more requests or a longer time than these (see soak)",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _experiment(target: Target, read: DeviceMemory, parameters: MemoryParameters, book: Logbook) -> str:
    """Try every length, then a cut; return why it ended."""
    rng = random.Random()
    yardstick = await take_measure(target, rng, parameters.timeout)
    context = target.claims.context
    longest = parameters.prompt_tokens or (round(WINDOW_SHARE * context) if context else UNKNOWN_WINDOW_TOKENS)
    floor = await read()  # not earlier: the first requests may have made the engine allocate for good
    book.measure("floor", floor, "bytes")
    lengths = [round(longest * (i + 1) / parameters.points) for i in range(parameters.points)]
    points: list[tuple[int, int]] = []
    ended = "all lengths were tried"
    for length, cut in [*((length, None) for length in lengths), (longest, Cut(How.CLOSE, after_deltas=4))]:
        text = " ".join(sentences(rng, yardstick.sentences_for(length)))
        request = chat_request(target, text, max_tokens=MAX_TOKENS, exact=True, cut=cut)
        peak, tokens = await _peak(target, read, request, parameters, book)
        if peak is None:
            return "a request gave nothing to judge"
        if cut is None:
            points.append((tokens or length, peak))
        left = await _floor_again(read, floor, parameters.back_within)
        if left:
            what = "a request whose client left" if cut else f"a prompt of {length} tokens"
            book.fail(f"{left / 2**20:.0f} MiB were still held {parameters.back_within:g} s after {what}")
            ended = "memory did not come back"
            break
    book.raw["points"] = points
    if (line := fit(points)) is not None:
        book.measure("bytes_per_token", line.slope, "bytes/token")
        book.measure("r_squared", line.r_squared, "ratio")
    return ended


async def _peak(
    target: Target, read: DeviceMemory, request: CompletionRequest, parameters: MemoryParameters, book: Logbook
) -> tuple[int | None, int | None]:
    """Return the most memory seen while a request ran, and its real prompt length."""
    async with sampling(read, _INTERVAL_S, most_waiting=1) as samples:
        completion = await ask_once(target, request, parameters.timeout)
    book.raw.setdefault("answers", []).append(sketch(completion, times=False))
    if not book.usable(completion, "a prompt"):
        return None, None
    if not samples.values:
        why = next((sample.error for sample in samples.errors), None) or "it was over too soon"
        book.doubt(f"no reading fell into a request: {why}")
    return max(samples.values, default=None), completion.prompt_tokens


async def _floor_again(read: DeviceMemory, floor: int, within: float) -> int:
    """Wait until the memory is back; return the bytes still held above the floor when time is up.

    Raises:
        Unseen: it cannot be read any more.
    """
    end = ticks() + round(within * 1e9)
    while True:
        left = above_floor(floor, await read())
        if not left or ticks() > end:
            return left
        await asyncio.sleep(_INTERVAL_S)
