"""A healthy answer must be followed by a token: an engine that is dead behind a living endpoint is found out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stager.client.connection import connect
from stager.models.base import Model
from stager.probes.ask import NO_ANSWER, configured_fields
from stager.probes.base import ProbeResult
from stager.probes.logbook import Logbook, broken, sketch
from stager.probes.prompts import fresh_tag
from stager.probes.requests import ask_once, chat_request, limits_for
from stager.probes.target import Target

#: One answer could be luck; vLLM 39863 and sglang 6624 answered "healthy" for minutes. Five in a row are asked for.
ROUNDS = 5
#: Seconds within which a healthy engine owes its first token. Kubernetes probes and llama-swap's health check both
#: give up far earlier; 30 s leaves room for a cold first prompt.
TOKEN_WITHIN_S = 30.0
MAX_TOKENS = 4


class TruthParameters(Model):
    """How often to ask, and how long one token may take (seconds)."""

    rounds: Annotated[int, Field(ge=1, le=1000)] = ROUNDS
    timeout: Annotated[float, Field(gt=0)] = TOKEN_WITHIN_S


class TruthProbe:
    """Asks health, then at once for a token, several times."""

    name = "truth"
    version = 2
    claims = ("answering",)
    parameters = TruthParameters
    thresholds: Mapping[str, Any] = {"rounds": ROUNDS, "token_within_s": TOKEN_WITHIN_S}

    def time_limit(self, parameters: TruthParameters) -> float:
        """Twice the patience a round has, and ten seconds."""
        return parameters.rounds * parameters.timeout * 2 + 10

    async def run(self, target: Target, parameters: TruthParameters) -> tuple[ProbeResult, ...]:
        """Return one finding for the claim ``answering``."""
        book = Logbook("answering", parameters)
        waits: list[float] = []
        healthy = rounds = 0
        for number in range(1, parameters.rounds + 1):
            rounds = number
            said_ok = await _health(target, parameters, book)
            healthy += said_ok
            wait = await _token(target, parameters, book, said_ok=said_ok)
            if wait is None:
                break
            waits.append(wait)
        book.measure("healthy_answers", healthy, "count")
        book.measure("tokens_followed", len(waits), "count")
        book.measure("longest_wait_for_a_token", max(waits, default=None), "s")
        stopped = "all rounds were done" if len(waits) == parameters.rounds else "a round brought no token"
        return (
            book.result(
                target,
                sampled=f"{target.engine.health}, each answer followed by a streamed chat request",
                sample_count=rounds,
                ended_because=stopped,
                not_proven=(
                    "that it stays so: an engine may die or hang a moment after the last round",
                    "anything under load: the requests went out one after the other",
                    "that the answers are right: any non-empty piece of output counted as a token",
                    "that this health endpoint would notice a hung engine: none was hung here",
                ),
                configured=await configured_fields(target),
            ),
        )


async def _health(target: Target, parameters: TruthParameters, book: Logbook) -> bool:
    within = min(parameters.timeout, 10.0 + target.engine.health_floor)
    async with connect(target.base_url, limits_for(MAX_TOKENS, within)) as connection:
        try:
            answer = await connection.get(target.engine.health, within=within)
        except NO_ANSWER as error:
            book.fault(f"{target.engine.health} did not answer: {type(error).__name__}: {error}")
            return False
    if not answer.ok:
        book.doubt(f"{target.engine.health} answered {answer.status}: it did not claim to be healthy")
    return answer.ok


async def _token(target: Target, parameters: TruthParameters, book: Logbook, *, said_ok: bool) -> float | None:
    """Ask for a token; return the seconds it took, or None after noting why there was none."""
    request = chat_request(target, f"Say yes. {fresh_tag()}", max_tokens=MAX_TOKENS, exact=True)
    completion = await ask_once(target, request, parameters.timeout)
    book.ended(completion)
    book.raw.setdefault("rounds", []).append(sketch(completion))
    if completion.deltas and completion.ttft is not None and not (completion.error or broken(completion)):
        return completion.ttft
    why = broken(completion) or completion.error or "the answer was empty"
    if said_ok:
        book.fail(f"{target.engine.health} said that all is well, and no token followed: {why}")
    else:
        book.fault(f"no token came: {why}")
    return None
