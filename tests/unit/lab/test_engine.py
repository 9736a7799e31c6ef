"""The lab engine is honest by default: it steps for all, frees what is cancelled, refuses what does not fit."""

import asyncio

from stager.lab.ask import parse_ask
from stager.lab.engine import Engine
from stager.lab.knobs import Knobs, Shape
from stager.lab.sequence import Sequence

SHAPE = Shape(step_s=0.001)


def _ask(text: str = "tell me", max_tokens: int = 12):
    return parse_ask({"prompt": text, "max_tokens": max_tokens, "stream": True}, chat=False, context=SHAPE.context)


async def _text(sequence: Sequence) -> str:
    parts = []
    while (token := await sequence.out.get()) is not None:
        parts.append(token)
    return "".join(parts)


def _with_engine(body, knobs: Knobs | None = None, shape: Shape = SHAPE):
    async def go():
        engine = Engine(shape, knobs or Knobs())
        loop = asyncio.create_task(engine.run())
        try:
            return await asyncio.wait_for(body(engine), 10)
        finally:
            loop.cancel()

    return asyncio.run(go())


def test_four_sequences_share_every_step() -> None:
    """Four requests of twelve tokens take about twelve steps, not forty-eight."""

    async def body(engine: Engine):
        sequences = [engine.submit(_ask(f"prompt {i}")) for i in range(4)]
        await asyncio.gather(*(_text(s) for s in sequences))
        return engine.counters

    counters = _with_engine(body)
    assert counters.predicted_tokens == 48
    assert counters.steps <= 15


def test_time_slicing_takes_a_step_for_each() -> None:
    """With the time-slicing knob the same work takes one step a token."""

    async def body(engine: Engine):
        sequences = [engine.submit(_ask(f"prompt {i}")) for i in range(4)]
        await asyncio.gather(*(_text(s) for s in sequences))
        return engine.counters

    assert _with_engine(body, Knobs(time_slicing=True)).steps >= 48


def test_the_same_prompt_has_the_same_answer() -> None:
    """The model is deterministic, alone or beside others."""

    async def body(engine: Engine):
        alone = await _text(engine.submit(_ask("the same")))
        both = await asyncio.gather(_text(engine.submit(_ask("the same"))), _text(engine.submit(_ask("another"))))
        return alone, both[0], both[1]

    alone, again, other = _with_engine(body)
    assert alone == again != other


def test_a_fifth_request_waits_and_is_served() -> None:
    """A request above the slots is queued, counted as waiting, and comes to its own end."""

    async def body(engine: Engine):
        sequences = [engine.submit(_ask(f"prompt {i}", 30)) for i in range(5)]
        await asyncio.sleep(0.015)
        gauges = engine.gauges()
        texts = await asyncio.gather(*(_text(s) for s in sequences))
        return gauges, texts, sequences[4].finish

    gauges, texts, finish = _with_engine(body)
    assert (gauges.processing, gauges.deferred) == (4, 1)
    assert all(texts)
    assert finish == "length"


def test_a_cancelled_request_is_gone_within_a_step_or_two() -> None:
    """After its client left, a request no longer counts and holds no memory."""

    async def body(engine: Engine):
        sequence = engine.submit(_ask("long", 1000))
        await asyncio.sleep(0.02)
        held = engine.memory_bytes()
        engine.disconnected(sequence)
        await asyncio.sleep(0.02)
        return held, engine.memory_bytes(), engine.gauges().processing

    held, after, processing = _with_engine(body)
    assert held > after
    assert processing == 0


def test_a_ghost_goes_on() -> None:
    """With the ghost knob the same request still counts after its client left."""

    async def body(engine: Engine):
        sequence = engine.submit(_ask("long", 1000))
        await asyncio.sleep(0.02)
        engine.disconnected(sequence)
        then = len(sequence.spoken)
        async with asyncio.timeout(10), engine.stepped:
            await engine.stepped.wait_for(lambda: len(sequence.spoken) >= then + 10)
        return engine.gauges().processing

    assert _with_engine(body, Knobs(ghost_in_decode=True)) == 1
