import ast
import asyncio
import sys
from pathlib import Path

import pytest

from stager.client.completion import CompletionRequest
from stager.client.load import run_load
from stager.engines.openai import OPENAI
from stager.onhost import metronome
from stager.probes.calibration import NoSource, calibrate, local_metronome
from stager.probes.statistics import co_arrival, median_gap
from stager.probes.target import MetronomeOrder, Mode, Target

TARGET = Target("http://127.0.0.1:9", OPENAI, "m")


def listen(mode: Mode, step_ms: float = 10.0, streams: int = 4, ticks: int = 30):
    async def go():
        async with local_metronome(MetronomeOrder(mode, step_ms, streams, 30.0)) as url:
            request = CompletionRequest("/v1/completions", {"stream": True, "max_tokens": ticks})
            return await run_load(url, [request] * streams, "/health")

    return asyncio.run(go())


def arrivals(load):
    return [[delta.at_ns for delta in completion.deltas] for completion in load.completions]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_source_speaks_like_an_engine(mode) -> None:
    """Each stream brings its tokens, finish reason, usage and [DONE], on the warmed connection."""
    load = listen(mode, ticks=8)
    for completion in load.completions:
        assert completion.whole
        assert completion.faults == ()
        assert (completion.finish_reason, completion.completion_tokens, len(completion.deltas)) == ("length", 8, 8)
        assert completion.reused_connection


def test_both_sources_keep_the_step_within_each_stream() -> None:
    """Whatever the mode, a stream's own tokens are one step apart; a busy machine makes it longer, never shorter."""
    for mode in Mode:
        assert 0.95 * 10e6 <= median_gap(arrivals(listen(mode))) < 30e6


def test_lock_step_arrives_together_and_slices_do_not() -> None:
    """The two sources differ in exactly what they are for."""
    together, _ = co_arrival(arrivals(listen(Mode.LOCK_STEP, 20.0)))
    sliced, _ = co_arrival(arrivals(listen(Mode.TIME_SLICED, 20.0)))
    assert together >= 0.8
    assert sliced <= 0.3


def test_a_round_begins_without_those_who_do_not_come(monkeypatch) -> None:
    """A stream that is alone does not wait for ever."""

    async def go():
        source = metronome.Metronome(5.0, 4, metronome.LOCK_STEP)
        monkeypatch.setattr(metronome, "PATIENCE", 0.1)
        server = await asyncio.start_server(source.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        load = await run_load(url, [CompletionRequest("/v1/completions", {"stream": True, "max_tokens": 3})], "/health")
        server.close()
        return load.completions[0]

    assert asyncio.run(go()).completion_tokens == 3


def test_a_source_ends_by_itself() -> None:
    """After its seconds the process is gone, whatever became of the one who started it."""

    async def go():
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "stager.onhost.metronome", "0", "5", "1", "lock-step", "0.3",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await child.stdout.readline()
        return await asyncio.wait_for(child.wait(), 10)

    assert asyncio.run(go()) == 0


def test_an_unknown_mode_is_refused() -> None:
    """There is no third mode."""
    with pytest.raises(ValueError, match="unknown mode"):
        metronome.Metronome(5.0, 1, "random")


def test_a_source_that_does_not_start_is_told(monkeypatch) -> None:
    """When the child ends before it says its port, the caller hears that there is no source."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(NoSource, match="before it said its port"):
        listen(Mode.LOCK_STEP)


@pytest.mark.parametrize("head", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b""])
def test_nonsense_ends_the_connection_only(head) -> None:
    """What is no request of ours closes that connection, and the source goes on."""

    async def go():
        async with local_metronome(MetronomeOrder(Mode.LOCK_STEP, 5.0, 1, 20.0)) as url:
            port = int(url.rsplit(":", 1)[1])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), 5) == b""
            load = await run_load(
                url, [CompletionRequest("/v1/completions", {"stream": True, "max_tokens": 2})], "/health"
            )
            return load.completions[0].whole

    assert asyncio.run(go())


def test_the_source_needs_nothing_but_the_standard_library() -> None:
    """It runs on a bare host: every import is of the standard library."""
    tree = ast.parse(Path(metronome.__file__).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


def test_calibration_reports_both_sources_and_the_path() -> None:
    """Jitter, latency, event rate and both co-arrivals come out, for the vantage of the evidence."""
    found = asyncio.run(calibrate(TARGET, 4, 20.0))
    assert found.jitter_p50_ms <= found.jitter_ms <= found.jitter_p99_ms
    assert found.latency_ms > 0
    assert 0 < found.events_per_second <= 1.05 * 4 / 0.020
    assert found.lock_step >= 0.8
    assert found.time_sliced <= 0.3
    assert found.document()["streams"] == 4
