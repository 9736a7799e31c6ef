import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from stager.engines.openai import OPENAI
from stager.probes import calibration
from stager.probes.calibration import calibrate, local_metronome, path_latency
from stager.probes.target import Mode, Target
from tests.unit.probes.cases import GOOD_CALIBRATION


@pytest.mark.parametrize(("jitter", "step", "judged"), [(1.0, 8.0, True), (1.01, 8.0, False), (None, 8.0, False)])
def test_jitter_may_be_an_eighth_of_a_step(jitter, step, judged) -> None:
    """Above an eighth, or unmeasured, the client cannot judge times."""
    assert (not replace(GOOD_CALIBRATION, jitter_ms=jitter).against_timing(step)) is judged


@pytest.mark.parametrize(("sliced", "judged"), [(0.0, True), (0.15, True), (0.16, False), (0.39, False), (None, False)])
def test_a_path_must_leave_slices_apart(sliced, judged) -> None:
    """A path over which a time-sliced source co-arrives fakes co-arrival."""
    assert (not replace(GOOD_CALIBRATION, time_sliced=sliced).against_co_arrival()) is judged


def test_the_sources_run_where_the_target_says() -> None:
    """With a metronome of its own the target decides where both sources run, and over which path they are read."""
    orders = []

    @asynccontextmanager
    async def metronome(order):
        orders.append(order)
        async with local_metronome(order) as url:
            yield url

    target = Target("http://127.0.0.1:9", OPENAI, "m", path="ssh-forward", metronome=metronome)
    found = asyncio.run(calibrate(target, 3, 500.0))
    assert [order.mode for order in orders] == [Mode.LOCK_STEP, Mode.TIME_SLICED]
    assert {order.step_ms for order in orders} == {found.step_ms} == {calibration.STEP_RANGE[1]}
    assert {order.streams for order in orders} == {3}


def test_a_path_that_joins_streams_is_seen() -> None:
    """A relay that holds bytes back and passes them on together reads as faked co-arrival, each time it is tried."""

    @asynccontextmanager
    async def coalescing(order):
        async with local_metronome(order) as url, holding_relay(int(url.rsplit(":", 1)[1]), every=0.02) as port:
            yield f"http://127.0.0.1:{port}"

    found = asyncio.run(calibrate(Target("http://127.0.0.1:9", OPENAI, "m", metronome=coalescing), 4, 20.0))
    assert found.time_sliced > calibration.MOST_FAKED
    assert found.sliced_attempts == 3
    assert found.against_co_arrival()


def test_nobody_there_has_no_latency() -> None:
    """Without answers there is no number."""
    assert asyncio.run(path_latency("http://127.0.0.1:9")) is None


def test_the_vantage_carries_what_was_found() -> None:
    """Latency, jitter and the whole calibration go into the evidence beside where the client stood."""
    target = Target("http://127.0.0.1:9", OPENAI, "m", path="ssh-forward", facts={"forward": "fabric"})
    vantage = target.vantage(path_latency_ms=1.5, client_jitter_ms=0.2, calibration=GOOD_CALIBRATION.document())
    assert (vantage.path, vantage.path_latency_ms, vantage.client_jitter_ms) == ("ssh-forward", 1.5, 0.2)
    assert vantage.calibration["forward"] == "fabric"
    assert vantage.calibration["time_sliced"] == 0.0


@asynccontextmanager
async def holding_relay(to_port: int, every: float):
    """Pass bytes on, but those towards the client only at common moments: one connection's worth of coalescing."""
    waiting: list[tuple[asyncio.StreamWriter, bytes]] = []

    async def connected(reader, writer) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", to_port)

        async def up() -> None:
            while data := await reader.read(65536):
                up_writer.write(data)
            up_writer.close()

        async def down() -> None:
            while data := await up_reader.read(65536):
                waiting.append((writer, data))

        await asyncio.gather(up(), down(), return_exceptions=True)

    async def release() -> None:
        while True:
            await asyncio.sleep(every)
            batch, waiting[:] = list(waiting), []
            for writer, data in batch:
                writer.write(data)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    beat = asyncio.ensure_future(release())
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        beat.cancel()
        server.close()
