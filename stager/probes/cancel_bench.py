"""What the cancel probe measures before it cancels anything: the controls every cell is held against."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field
from statistics import median

from stager.client.completion import CompletionRequest, Cut, How, complete
from stager.client.connection import connect
from stager.client.load import run_load
from stager.client.record import Completion
from stager.engines.reading import Reading
from stager.probes.ask import first_that_answers
from stager.probes.canaries import canary_prompt, pick_canaries
from stager.probes.logbook import Logbook, broken
from stager.probes.prompts import fresh_tag, unique_prompt
from stager.probes.requests import ask_once, generation_request, limits_for
from stager.probes.target import Target

NEIGHBOUR_TOKENS = 48
#: A ghost must have work for so many deadlines, or its own end could pass for a cancel.
OUTLASTS = 3.0
_SHORT_TOKENS = 12
_UNKNOWN_WINDOW = 2048
_WORDS_PER_TOKEN = 0.7


class NoBench(Exception):
    """The controls did not come to their end, so nothing can be held against them."""


@dataclass(slots=True)
class Bench:
    """The controls: all times in seconds.

    ``neighbour_text`` is None where two undisturbed runs said different things, so that no text can be compared.
    """

    target: Target
    timeout: float
    grace: float
    active: Reading | None
    waiting: Reading | None
    ttft: float = 0.0
    token_s: float = 0.0
    prefill_s: float = 0.0
    wide_ttft: float = 0.0
    beside_ttft: float = 0.0
    neighbour_text: str | None = None
    canary: str = ""
    tag: str = field(default_factory=fresh_tag)
    prompts: int = 0

    @property
    def width(self) -> int:
        """Streams that fill the engine, as claimed; 1 where nothing is claimed."""
        return self.target.claims.slots or 1

    @property
    def victim_tokens(self) -> int:
        """Tokens a job needs to outlast the deadline by far, and the checks after a neighbour's end too."""
        wanted = math.ceil(OUTLASTS * self.deadline(reading=True) / max(self.token_s, 1e-4)) + 3 * NEIGHBOUR_TOKENS
        return min(wanted, (self.target.claims.context or _UNKNOWN_WINDOW) // 2)

    def deadline(self, *, reading: bool) -> float:
        """Seconds after its client left at which a job must be gone: the grace, and the step it may be in.

        A step that also reads short prompts at full width is taken for the longest; while a long one is read, that one.
        """
        return self.grace + max(self.wide_ttft, self.beside_ttft, self.prefill_s if reading else 0.0)

    @property
    def ghost_would_show(self) -> bool:
        """Whether a job of ``victim_tokens`` really lives on after the deadline."""
        return self.victim_tokens * self.token_s >= 1.5 * self.deadline(reading=True)

    def neighbour(self) -> CompletionRequest:
        """The stream that must not notice anything."""
        return generation_request(self.target, canary_prompt(self.canary), max_tokens=NEIGHBOUR_TOKENS)

    def victim(self, cut: Cut | None, prompt_tokens: int = 0) -> CompletionRequest:
        """A long job with a prompt of its own, and how its client leaves."""
        return generation_request(self.target, self._text(prompt_tokens), max_tokens=self.victim_tokens, cut=cut)

    def short(self, seconds: float = 0.0) -> CompletionRequest:
        """A request that shows how soon a first token comes, and holds its slot for at least so many seconds."""
        tokens = min(512, max(_SHORT_TOKENS, math.ceil(seconds / max(self.token_s, 1e-4))))
        return generation_request(self.target, self._text(0), max_tokens=tokens)

    def _text(self, tokens: int) -> str:
        self.prompts += 1
        return unique_prompt(self.tag, self.prompts, max(24, round(tokens * _WORDS_PER_TOKEN)))


async def take_bench(target: Target, timeout_s: float, grace: float, prompt_tokens: int, book: Logbook) -> Bench:
    """Measure the controls on the idle engine.

    Raises:
        NoBench: a control broke, or was answered with an error.
    """
    async with connect(target.base_url) as connection:
        active = await first_that_answers(connection, target.engine.active)
        waiting = await first_that_answers(connection, target.engine.waiting)
    bench = Bench(target, timeout_s, grace, active, waiting, canary=pick_canaries(random.Random(), 1)[0])
    shorts = [_whole(await ask_once(target, bench.short(), timeout_s), book) for _ in range(3)]
    bench.ttft = median(c.ttft or 0.0 for c in shorts)
    bench.token_s = min(_token_seconds(c) for c in shorts)
    wide = await run_load(
        target.base_url, [bench.short() for _ in range(bench.width)], target.engine.warm, limits_for(64, timeout_s)
    )
    bench.wide_ttft = max(_whole(c, book).ttft or 0.0 for c in wide.completions)
    texts = []
    for tokens in (prompt_tokens, 0):
        beside = CompletionRequest(*_path_body(bench.victim(None, tokens), NEIGHBOUR_TOKENS // 2), keep_raw=False)
        neighbour, companion = await asyncio.gather(
            ask_once(target, bench.neighbour(), timeout_s), ask_once(target, beside, timeout_s)
        )
        texts.append(_whole(neighbour, book).content)
        bench.beside_ttft = neighbour.ttft or 0.0
        bench.prefill_s = max(bench.prefill_s, _whole(companion, book).ttft or 0.0)
    bench.neighbour_text = texts[0] if texts[0] == texts[1] else None
    return bench


def _path_body(request: CompletionRequest, max_tokens: int) -> tuple[str, dict[str, object]]:
    return request.path, {**request.body, "max_tokens": max_tokens}


def _whole(completion: Completion, book: Logbook) -> Completion:
    why = broken(completion) or completion.error or ("" if completion.deltas else "the answer was empty")
    if why:
        book.ended(completion)
        raise NoBench(why)
    return completion


def _token_seconds(completion: Completion) -> float:
    times = [delta.at_ns for delta in completion.deltas]
    return (times[-1] - times[0]) / 1e9 / (len(times) - 1) if len(times) > 1 else 0.05


@dataclass(slots=True)
class Running:
    """A request under way, and the moment it begins to speak."""

    task: asyncio.Task[Completion]
    speaking: asyncio.Event

    async def speaks(self, within: float) -> bool:
        """Wait until the first output; False if it ended or took too long before that."""
        waiter = asyncio.ensure_future(self.speaking.wait())
        await asyncio.wait({waiter, self.task}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        return self.speaking.is_set()


def start(bench: Bench, request: CompletionRequest) -> Running:
    """Send a request in the background."""
    speaking = asyncio.Event()

    async def send() -> Completion:
        limits = limits_for(int(request.body["max_tokens"]), bench.timeout)
        async with connect(bench.target.base_url, limits) as connection:
            return await complete(connection, request, lambda _: speaking.set())

    return Running(asyncio.ensure_future(send()), speaking)


def leaving(
    way: How,
    bench: Bench,
    *,
    after_deltas: int | None = None,
    after_s: float | None = None,
    on: asyncio.Event | None = None,
) -> Cut:
    """Return a cut that, half-closed, goes on reading for half the grace and then closes."""
    return Cut(way, after_deltas=after_deltas, after_s=after_s, on=on, linger=bench.grace / 2)
