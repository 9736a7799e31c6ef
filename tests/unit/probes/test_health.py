"""Health during a long prefill: due samples, errors, the slowest answer, the longest gap."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

import pytest

from stager.client.sampler import Sample
from stager.lab.knobs import Knobs, Shape
from stager.lab.process import lab_process
from stager.models.evidence import Finding, Verdict
from stager.probes.calibrate_settings import SETTINGS, lab_target
from stager.probes.calibration import NoSource, local_metronome
from stager.probes.health import HealthParameters, HealthProbe
from stager.probes.health_series import FOREVER_NS, doubts, failures, series, standstills, too_slow
from stager.probes.target import MetronomeOrder
from tests.unit.probes.bench import finding, results

MS = 1_000_000


def _sample(due_ms: float, took_ms: float, status: int | None = 200, error: str | None = None) -> Sample[int]:
    due, end = round(due_ms * MS), round((due_ms + took_ms) * MS)
    return Sample(due, due, end, status, error)


def _series(*taken: Sample[int], end_ms: float = 1000):
    return series("/health", taken, 0, round(end_ms * MS))


def test_only_what_was_due_in_the_span_counts() -> None:
    """A sample due before or after the prefill is left out; one that was due in it counts however late its answer."""
    found = _series(_sample(-100, 5), _sample(500, 900), _sample(1000, 5))
    assert (found.expected, found.obtained) == (1, 1)
    assert found.slowest == pytest.approx(0.9)


def test_latency_counts_from_the_intended_time() -> None:
    """Quantiles are nearest rank, so the maximum is a latency that occurred."""
    found = _series(*(_sample(100 * i, i + 1) for i in range(10)))
    assert found.quantile(0.5) == pytest.approx(0.005)
    assert found.quantile(0.99) == found.slowest == pytest.approx(0.010)


def test_a_silence_is_a_gap_even_without_a_slow_answer() -> None:
    """Failed answers leave a gap between good ones, and the gap counts like a slow answer."""
    found = _series(_sample(0, 1), _sample(100, 1, status=503), _sample(900, 1))
    assert found.longest_gap == pytest.approx(0.9)
    assert "status 503" in failures(found)[0]
    assert "no good answer for 0.900 s" in too_slow(found, 0.5)[0]


def test_what_this_client_slept_through_is_no_fault_of_the_engine() -> None:
    """An answer counts without the time in which due questions did not go out; what is left of it may refute."""

    def late(due_ms: int, asked_ms: int, answered_ms: int) -> Sample[int]:
        return Sample(due_ms * MS, asked_ms * MS, answered_ms * MS, 200, None)

    asleep = [late(0, 0, 5), late(100, 100, 905), late(200, 900, 910), late(300, 900, 912), late(950, 950, 955)]
    ours = standstills([asleep])
    assert ours == [(200 * MS, 900 * MS)]
    found = series("/health", asleep, 0, 1000 * MS, ours)
    assert found.slowest == pytest.approx(0.805)
    assert found.slowest_but_ours == pytest.approx(0.105)
    assert too_slow(found, 0.5) == []
    assert "this client, the path or the host stood still" in doubts(found, 0.5)[0]
    assert doubts(found, 1.0) == []
    assert "once took 0.805 s" in too_slow(found, 0.1)[0]
    assert doubts(found, 0.1) == []


def test_what_the_control_missed_too_is_no_fault_of_the_engine() -> None:
    """Slow and lost answers are the engine's only where a source on the host was heard over the same path meanwhile."""
    lost, refused = _sample(250, 400, None, "timeout"), _sample(900, 1, None, "refused")
    taken = [_sample(0, 2), _sample(100, 700), lost, _sample(800, 2), refused, _sample(950, 2)]
    control = [_sample(0, 1), _sample(100, 680), _sample(300, 300, None, "timeout"), _sample(790, 1), _sample(900, 1)]
    ours = standstills([taken], control)
    assert ours == [(100 * MS, 780 * MS)]
    found = series("/health", taken, 0, 1000 * MS, ours)
    assert too_slow(found, 0.5) == []
    assert failures(found) == ["/health failed 1 of 6 times, first: refused"]
    told = doubts(found, 0.5)
    assert told[0].startswith("/health did not answer 1 of 6 times, but meanwhile")
    assert told[1].startswith("/health once took 0.798 s, but meanwhile")
    alone = series("/health", taken, 0, 1000 * MS)
    assert "once took 0.700 s" in too_slow(alone, 0.5)[0]
    assert "failed 2 of 6 times" in failures(alone)[0]


def test_a_control_that_falls_silent_excuses_only_what_came_after() -> None:
    """From the first question it left open to the next that it answered; if there is none, all that came after."""
    control = [_sample(0, 1), _sample(100, 5, None, "reset"), _sample(200, 5, None, "reset"), _sample(400, 1)]
    assert standstills([], control) == [(100 * MS, 401 * MS)]
    assert standstills([], control[:3]) == [(100 * MS, FOREVER_NS)]


def test_a_good_series_has_no_complaints() -> None:
    """Prompt answers all the way through leave nothing to say."""
    found = _series(*(_sample(50 * i, 2) for i in range(20)))
    assert failures(found) + too_slow(found, 0.5) + doubts(found, 0.5) == []


def test_the_honest_engine_stays_readable() -> None:
    """Both findings pass, with samples of the health endpoint and of every gauge's endpoint."""
    found = {r.finding.claim: r.finding for r in results("health")}
    assert {f.verdict for f in found.values()} == {Verdict.PASSED}, [f.reasons for f in found.values()]
    assert found["readable"].measurements["health_obtained"].value >= 20
    assert found["readable"].measurements["idle_afterwards"].value is True
    assert {"metrics_max", "slots_max"} <= set(found["gauges-readable"].measurements)


class _Relay:
    """Passes on what a server on this machine says and hears, and for a while nothing, as a network may."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._flows = asyncio.Event()
        self._flows.set()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()

    def stand_still(self, after: float, seconds: float) -> None:
        async def go() -> None:
            await asyncio.sleep(after)
            self._flows.clear()
            await asyncio.sleep(seconds)
            self._flows.set()

        self._tasks.add(asyncio.ensure_future(go()))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._tasks |= {asyncio.ensure_future(self._pump(*one)) for one in ((reader, back), (there, writer))}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


def _port(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


@pytest.mark.parametrize(
    ("control", "verdict", "words"),
    [
        ("on the same path", Verdict.INCONCLUSIVE, "the path or the host stood still"),
        ("on a path of its own", Verdict.FAILED, "once took"),
        ("missing", Verdict.INCONCLUSIVE, "it may have been the path, which had no control: no room for one"),
    ],
)
def test_a_path_that_stands_still_is_not_taken_for_the_engine(control: str, verdict: Verdict, words: str) -> None:
    """The same late answers: no verdict if the control was late too, or missing; refuted if the engine alone was."""
    setting = SETTINGS["health"]

    async def go() -> Finding:
        async with lab_process() as lab, AsyncExitStack() as stack:
            relay = _Relay(_port(await lab.start(setting.shape)))
            target = lab_target(await stack.enter_async_context(relay.open()), setting.shape)

            @asynccontextmanager
            async def metronome(order: MetronomeOrder) -> AsyncIterator[str]:
                relay.stand_still(0.1, 0.7)  # the control is asked for when the long prompt is about to go out
                if control == "missing":
                    raise NoSource("no room for one")
                async with local_metronome(order) as url:
                    beside = _Relay(_port(url))
                    if control == "on the same path":
                        beside.stand_still(0.1, 0.7)
                    async with beside.open() as relayed:
                        yield relayed

            wanted = HealthParameters.model_validate(setting.parameters)
            return (await HealthProbe().run(replace(target, metronome=metronome), wanted))[0].finding

    found = asyncio.run(go())
    assert found.verdict is verdict, found.reasons
    assert any(words in reason for reason in found.reasons)
    assert ("control_p50" in found.measurements) is (control != "missing")


def test_each_endpoint_has_its_own_verdict() -> None:
    """A gauge that hangs during prefill fails the gauges' claim and leaves the health endpoint's alone."""
    found = {r.finding.claim: r.finding.verdict for r in results("health", Knobs(slots_hang_in_prefill=True))}
    assert found == {"readable": Verdict.PASSED, "gauges-readable": Verdict.FAILED}


def test_a_prefill_too_short_for_enough_samples_is_inconclusive() -> None:
    """A handful of questions says nothing about a maximum."""
    found = finding("health", shape=Shape(), prompt_tokens=500)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "questions were due" in found.reasons[0]
