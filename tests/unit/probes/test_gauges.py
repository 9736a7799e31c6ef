import asyncio
import json
from contextlib import asynccontextmanager

from aiohttp import web

from stager.client.connection import connect
from stager.engines.base import StepCounter
from stager.engines.described import described
from stager.engines.openai import OPENAI
from stager.engines.reading import Kind, Reading, Unreadable
from stager.probes.ask import ask, configured_fields, first_that_answers
from stager.probes.gauges import gauge_samples, sampled_gauge, wait_idle
from stager.probes.steps import Count, settled_count, window
from stager.probes.target import Claims, Target


def reading(name: str, kind: Kind = Kind.MEASURED) -> Reading:
    return Reading(name=name, path="/health", pointer=f"/{name}", kind=kind, source="written here")


@asynccontextmanager
async def showing(*values: dict, status: int = 200, delay: float = 0.0):
    """A server whose /health shows each of these in turn, the last one for ever."""
    left = list(values)

    async def health(_request: web.Request) -> web.Response:
        await asyncio.sleep(delay)
        now = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(text=json.dumps(now), content_type="application/json", status=status)

    app = web.Application()
    app.router.add_get("/health", health)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def with_server(act, *values: dict, **options):
    async def go():
        async with showing(*values, **options) as url, connect(url) as connection:
            return await act(url, connection)

    return asyncio.run(go())


def test_a_gauge_is_asked_once_per_question() -> None:
    """One question, one value."""
    assert with_server(lambda _, c: ask(c, reading("active")), {"active": 3}) == 3


def test_an_error_status_is_no_value() -> None:
    """A gauge inside a 503 is not read."""

    async def act(_url, connection):
        try:
            await ask(connection, reading("active"))
        except Unreadable as error:
            return str(error)

    assert "503" in with_server(act, {"active": 3}, status=503)


def test_the_first_gauge_that_is_really_there_is_used() -> None:
    """Preference decides among those that answer; where none does, there is none."""
    both = (reading("missing"), reading("active"))
    assert with_server(lambda _, c: first_that_answers(c, both), {"active": 0}).name == "active"
    assert with_server(lambda _, c: first_that_answers(c, both), {"x": 0}) is None


def test_a_sampled_gauge_keeps_its_peak_and_what_was_missing() -> None:
    """Every intended sample is accounted for, and the peak is the largest value seen."""

    async def act(url, _connection):
        async with sampled_gauge(url, reading("active"), 0.02) as samples:
            while len(samples.taken) < 6:  # noqa: ASYNC110  samples are no event, on purpose
                await asyncio.sleep(0.02)
        return gauge_samples(reading("active"), samples)

    found = with_server(act, {"active": 1}, {"active": 4}, {"nothing": 0}, {"active": 2})
    assert found.peak == 4
    assert found.obtained + len(found.errors) == found.expected
    assert len(found.errors) == 1
    assert found.measured
    first = found.values[0]
    assert found.peak_between(first[0], first[1]) == (1, 1)
    assert found.peak_between(0, 1) == (None, 0)


def test_a_blocked_gauge_gives_few_samples_and_says_so() -> None:
    """Slow answers overlap instead of queueing, and unanswered ones are errors, not zeros."""

    async def act(url, _connection):
        async with sampled_gauge(url, reading("active"), 0.02) as samples:
            while samples.expected < 4:  # noqa: ASYNC110  samples are no event, on purpose
                await asyncio.sleep(0.02)
        return gauge_samples(reading("active"), samples)

    found = with_server(act, {"active": 4}, delay=3)
    assert found.peak is None
    assert found.obtained == 0
    assert len(found.errors) == found.expected >= 3


def test_idle_needs_two_zeros_in_a_row() -> None:
    """A single zero between two jobs is not rest."""
    assert with_server(lambda _, c: wait_idle(c, [reading("n")], 5), {"n": 1}, {"n": 0}, {"n": 1}, {"n": 0})
    assert not with_server(lambda _, c: wait_idle(c, [reading("n")], 0.3), {"n": 1})
    assert not with_server(lambda _, c: wait_idle(c, [reading("missing")], 0.3), {"n": 0})


COUNTER = StepCounter(reading("tokens"), reading("steps"), includes_prompt=False, source="")


def test_counters_are_read_when_they_stand_still() -> None:
    """A counter that still grows is read again; one that never rests, or is not there, gives nothing."""
    rest, more = {"tokens": 1, "steps": 1}, {"tokens": 5, "steps": 3}
    assert with_server(lambda _, c: settled_count(c, COUNTER), rest, rest, more, more) == Count(5, 3)
    assert with_server(lambda _, c: settled_count(c, COUNTER), {"tokens": 1}) is None


def test_a_window_is_the_growth_between_two_rests() -> None:
    """Tokens per step come from differences; prompt tokens are taken off where the engine counts them too."""
    assert window(COUNTER, Count(100, 50), Count(500, 150), 40).tokens_per_step == 4.0
    with_prompt = StepCounter(reading("tokens"), reading("steps"), includes_prompt=True, source="")
    assert window(with_prompt, Count(0, 0), Count(440, 100), 40).tokens_per_step == 4.0


def test_a_counter_that_went_back_is_no_window() -> None:
    """A restart in between, a missing count, or no step at all: no number."""
    assert window(COUNTER, Count(100, 50), Count(10, 5), 0) is None
    assert window(COUNTER, None, Count(10, 5), 0) is None
    assert window(COUNTER, Count(1, 1), Count(1, 1), 0).tokens_per_step is None


def test_capacity_fields_come_with_what_sets_them() -> None:
    """The playbook's claims and the engine's fields are recorded as claims; those not shown are left out."""
    engine = described(OPENAI, {"health": "/health", "limit": "/health#/batch_limit"})

    async def act(url, _connection):
        return await configured_fields(Target(url, engine, "m", Claims(slots=4)))

    fields = with_server(act, {"batch_limit": 4})
    assert [(f.name, f.value, f.endpoint) for f in fields] == [
        ("slots", 4, "playbook"),
        ("limit", 4, "/health#/batch_limit"),
    ]
    assert fields[1].source.startswith("configured")
    assert [f.name for f in with_server(act, {"other": 1})] == ["slots"]
