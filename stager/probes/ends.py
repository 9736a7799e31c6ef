"""How streams ended, held against how they should have."""

from __future__ import annotations

from collections.abc import Sequence

from stager.client.record import Completion, Ended
from stager.engines.base import Engine
from stager.models.evidence import StreamEnd, Termination
from stager.probes.judgement import Judgement

#: Completion tokens may fall short of what was asked for by this share: drafting engines round.
TOKEN_TOLERANCE = 0.1

_BROKEN = frozenset({Ended.LIMIT, Ended.MALFORMED})
_TRANSPORT = frozenset({Ended.LIMIT, Ended.MALFORMED, Ended.DISCONNECTED, Ended.TIMEOUT, Ended.REFUSED})


def termination(completions: Sequence[Completion], engine: Engine, reason: str = "") -> Termination:
    """Why sampling ended, and each stream's finish reason and error."""
    ends = tuple(
        StreamEnd(stream=index, finish_reason=engine.finish_word(completion.finish_reason), error=completion.error)
        for index, completion in enumerate(completions)
    )
    whole = sum(completion.whole for completion in completions)
    return Termination(reason=reason or f"{whole} of {len(completions)} streams came to their own end", streams=ends)


def why_broken(completions: Sequence[Completion]) -> str:
    """Why these streams are no experiment at all; empty if they are one.

    One answer beyond every bound or unreadable is enough, and one request that never reached a server (it tells
    nothing of the engine); a lost connection or a refusal by the server only if all suffer it.
    """
    for index, completion in enumerate(completions):
        if completion.ended is Ended.REFUSED and completion.status is None:
            return f"stream {index} never reached the server: {completion.error}"
        if completion.ended in _BROKEN:
            return f"stream {index}: {completion.error}"
        if completion.unreadable:
            return f"stream {index} cannot be read: {completion.unreadable[0]}"
    if completions and all(c.ended in _TRANSPORT for c in completions):
        return f"no stream came to an end of its own; the first ended with: {completions[0].error}"
    if completions and not any(c.deltas for c in completions):
        return f"no stream brought any output; the first ended with: {completions[0].error or completions[0].ended}"
    return ""


def judge_ends(
    judgement: Judgement, completions: Sequence[Completion], engine: Engine, expected_tokens: int | None
) -> None:
    """Hold every stream's end against the expected one: ``length`` where a length was asked for, and usage."""
    if reason := why_broken(completions):
        judgement.breaks(reason)
        return
    for index, completion in enumerate(completions):
        _judge_end(judgement, index, completion, engine, expected_tokens)


def _judge_end(
    judgement: Judgement, index: int, completion: Completion, engine: Engine, expected_tokens: int | None
) -> None:
    if not completion.whole:
        judgement.refute(f"stream {index} did not come to its end: {completion.error or completion.ended}")
        return
    reason = engine.finish_word(completion.finish_reason)
    if not reason:
        judgement.refute(f"stream {index} ended without a finish reason")
    elif reason not in ("length", "stop"):
        judgement.refute(f"stream {index} ended with {reason!r}")
    if completion.completion_tokens is None:
        judgement.hinder(f"stream {index} gave no usage, so its tokens cannot be counted")
    elif expected_tokens is not None:
        short = completion.completion_tokens < expected_tokens * (1 - TOKEN_TOLERANCE)
        if reason == "stop" and short:
            judgement.hinder(
                f"stream {index} stopped by itself after {completion.completion_tokens} of {expected_tokens} tokens"
            )
        elif reason == "length" and short:
            judgement.refute(
                f"stream {index} says length after {completion.completion_tokens} of {expected_tokens} tokens"
            )
