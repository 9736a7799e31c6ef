"""What the cancel probe measures before it cancels anything: the controls every cell is held against."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field
from statistics import median

from stager.client.completion import CompletionRequest, Cut
from stager.client.connection import connect
from stager.client.load import run_load
from stager.client.record import Completion
from stager.engines.reading import Reading
from stager.probes.ask import first_that_answers
from stager.probes.canaries import canary_prompt, pick_canaries
from stager.probes.logbook import broken
from stager.probes.prompts import fresh_tag, unique_prompt
from stager.probes.requests import ask_once, generation_request, limits_for
from stager.probes.target import Target, Unseen

NEIGHBOUR_TOKENS = 48
#: Prompt tokens an engine reads in one step at most: llama.cpp's n_batch, ExLlamaV3's chunk_size, SGLang's and vLLM's
#: smallest defaults. Bounds how much of a long prompt may still be read for a client that left.
STEP_TOKENS = 2048
#: A ghost must have work for so many deadlines, or its own end could pass for a cancel.
OUTLASTS = 3.0
_SHORT_TOKENS = 12
_UNKNOWN_WINDOW = 2048
_WORDS_PER_TOKEN = 0.7


class NoBench(Exception):
    """The controls did not come to their end, so nothing can be held against them; with the one that did not."""

    def __init__(self, words: str, completion: Completion) -> None:
        super().__init__(words)
        self.completion = completion


@dataclass(slots=True)
class Bench:
    """The controls: all times in seconds.

    ``neighbour_text`` is None where two undisturbed runs said different things, so that no text can be compared.
    """

    target: Target
    timeout: float
    grace: float
    prompt_tokens: int
    active: Reading | None
    waiting: Reading | None
    busy: Reading | None = None
    idle_busy: int | None = None
    device_unseen: str = "this client has no way to read it"
    ttft: float = 0.0
    token_s: float = 0.0
    wide_token_s: float = 0.0
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
    def beside(self) -> bool:
        """Whether a prompt can be read beside a neighbour: not where a single slot, or none, is claimed."""
        return self.width > 1

    @property
    def gauges(self) -> tuple[Reading, ...]:
        """The gauges that must come back to zero, each once."""
        return tuple(dict.fromkeys(gauge for gauge in (self.active, self.busy) if gauge is not None))

    @property
    def victim_tokens(self) -> int:
        """Tokens a job needs to outlast the deadline by far, and the checks after a neighbour's end too."""
        wanted = math.ceil(OUTLASTS * self.deadline(reading=True) / max(self.token_s, 1e-4)) + 3 * NEIGHBOUR_TOKENS
        return min(wanted, (self.target.claims.context or _UNKNOWN_WINDOW) // 2)

    def decoding_after(self, tokens: int) -> float:
        """Seconds after which a short prompt's answer has so many tokens, even with every slot busy."""
        return max(self.wide_ttft, self.beside_ttft) + tokens * self.wide_token_s

    def deadline(self, *, reading: bool) -> float:
        """Seconds after its client left at which a job must be gone: the engine's grace, and one engine step.

        The step is added because engines look for disconnects between steps only. It is the longest one seen in this
        run's own controls: a first token with every slot busy, or, while a long prompt is read, the reading of as much
        of it as goes into one step (``STEP_TOKENS``).
        """
        one_read = self.prefill_s * min(1.0, STEP_TOKENS / self.prompt_tokens)
        return self.grace + max(self.wide_ttft, self.beside_ttft, one_read if reading else 0.0)

    @property
    def ghost_would_show(self) -> bool:
        """Whether a job of ``victim_tokens`` really lives on after the deadline."""
        return self.victim_tokens * self.token_s >= 1.5 * self.deadline(reading=True)

    def ghost_until_ns(self, left_ns: int) -> int:
        """Until when a job whose client left then would be there at least, were it not ended."""
        return left_ns + round(self.victim_tokens * self.token_s * 1e9)

    def neighbour(self, outlasting: float = 0.0) -> CompletionRequest:
        """The stream that must not notice anything.

        With every slot busy it goes on for more than ``outlasting`` seconds, if there is room.
        """
        wanted = max(NEIGHBOUR_TOKENS, math.ceil(1.5 * outlasting / max(self.wide_token_s, 1e-4)))
        tokens = min(wanted, (self.target.claims.context or _UNKNOWN_WINDOW) // 2)
        return generation_request(self.target, canary_prompt(self.canary), max_tokens=tokens)

    def victim(self, cut: Cut | None, prompt_tokens: int = 0, *, stream: bool = True) -> CompletionRequest:
        """A long job with a prompt of its own, and how its client leaves."""
        text = self._text(prompt_tokens)
        return generation_request(self.target, text, max_tokens=self.victim_tokens, stream=stream, cut=cut)

    def short(self, seconds: float = 0.0) -> CompletionRequest:
        """A request that shows how soon a first token comes; with every slot busy it holds its own for so long."""
        tokens = min(512, max(_SHORT_TOKENS, math.ceil(seconds / max(self.wide_token_s, 1e-4))))
        return generation_request(self.target, self._text(0), max_tokens=tokens)

    def _text(self, tokens: int) -> str:
        self.prompts += 1
        return unique_prompt(self.tag, self.prompts, max(24, round(tokens * _WORDS_PER_TOKEN)))


async def take_bench(target: Target, timeout_s: float, grace: float, prompt_tokens: int) -> Bench:
    """Measure the controls on the idle engine.

    Raises:
        NoBench: a control broke, or was answered with an error.
    """
    async with connect(target.base_url) as connection:
        active = await first_that_answers(connection, target.engine.active)
        waiting = await first_that_answers(connection, target.engine.waiting)
        busy = await first_that_answers(connection, target.engine.busy)
    canary = pick_canaries(random.Random(), 1)[0]
    bench = Bench(target, timeout_s, grace, prompt_tokens, active, waiting, busy, canary=canary)
    await _look_at_device(bench)
    shorts = [_whole(await ask_once(target, bench.short(), timeout_s)) for _ in range(3)]
    bench.ttft = median(c.ttft or 0.0 for c in shorts)
    bench.token_s = min(token_seconds(c) for c in shorts)
    wide = await run_load(
        target.base_url, [bench.short() for _ in range(bench.width)], target.engine.warm, limits_for(64, timeout_s)
    )
    bench.wide_ttft = max(_whole(c).ttft or 0.0 for c in wide.completions)
    # No batch is slower than one stream after the other: what reads slower was a hiccup, and would ask for too little.
    bench.wide_token_s = min(*(token_seconds(c) for c in wide.completions), bench.width * bench.token_s)
    texts = []
    for tokens in (prompt_tokens, 0):
        beside = CompletionRequest(*_path_body(bench.victim(None, tokens), NEIGHBOUR_TOKENS // 2), keep_raw=False)
        if bench.beside:
            neighbour, companion = await asyncio.gather(
                ask_once(target, bench.neighbour(), timeout_s), ask_once(target, beside, timeout_s)
            )
        else:  # in one slot one would wait for the other, and the wait would pass for the reading of its prompt
            neighbour = await ask_once(target, bench.neighbour(), timeout_s)
            companion = await ask_once(target, beside, timeout_s)
        texts.append(_whole(neighbour).content)
        bench.beside_ttft = neighbour.ttft or 0.0
        bench.prefill_s = max(bench.prefill_s, _whole(companion).ttft or 0.0)
    bench.neighbour_text = texts[0] if texts[0] == texts[1] else None
    return bench


async def _look_at_device(bench: Bench) -> None:
    if bench.target.device_busy is None:
        return
    try:
        bench.idle_busy = await bench.target.device_busy()
    except Unseen as error:
        bench.device_unseen = str(error)


def _path_body(request: CompletionRequest, max_tokens: int) -> tuple[str, dict[str, object]]:
    return request.path, {**request.body, "max_tokens": max_tokens}


def _whole(completion: Completion) -> Completion:
    why = broken(completion) or completion.error or ("" if completion.deltas else "the answer was empty")
    if why:
        raise NoBench(why, completion)
    return completion


def token_seconds(completion: Completion) -> float:
    """Seconds a token, from the first to the last one."""
    times = [delta.at_ns for delta in completion.deltas]
    return (times[-1] - times[0]) / 1e9 / (len(times) - 1) if len(times) > 1 else 0.05
