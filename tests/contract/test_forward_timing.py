"""What a forward does to the moments tokens arrive at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stager.host.connect import connect
from stager.probes.statistics import Arrivals, co_arrival

from .servers import Server

STREAMS, TICKS, STEP_MS = 4, 60, 10.0


@contextmanager
def metronome(mode: str) -> Iterator[int]:
    """Run a source of known beats as a process of its own; yield its port."""
    words = ["0", str(STEP_MS), str(STREAMS), mode, "90"]
    source = subprocess.Popen(
        [sys.executable, "-m", "stager.onhost", "metronome", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert source.stdout
    try:
        yield json.loads(source.stdout.readline())["port"]
    finally:
        source.kill()
        source.wait()


async def listen(url: str) -> Arrivals:
    """Read one round: when each token of each stream arrived, in ns."""
    port = int(url.rsplit(":", 1)[1])
    body = json.dumps({"max_tokens": TICKS}).encode()
    loop = asyncio.get_running_loop()

    async def one() -> list[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        times = []
        while len(times) < TICKS:
            line = await reader.readline()
            assert line, "the stream was cut"
            if line.startswith(b'data: {"choices": [{"index": 0, "text": " '):
                times.append(int(loop.time() * 1e9))
        writer.close()
        return times

    return await asyncio.wait_for(asyncio.gather(*(one() for _ in range(STREAMS))), 30)


def read(url: str) -> float:
    found = co_arrival(asyncio.run(listen(url)))
    assert found
    return found[0]


@pytest.mark.parametrize("first", [True, False], ids=["first-on-its-connection", "after-a-command"])
def test_together_and_apart_stay_so_through_a_forward(sshd: Server, first: bool) -> None:
    """A lock-step source reads co-arrival near one and a time-sliced one near zero through a forward.

    So they read even on a connection that has carried no command before: without one, sshd joins small packets.
    A busy machine only ever blurs the two, so the clearest of some rounds counts.
    """
    host = connect(sshd.spec(), config=sshd.empty_config)
    if not first:
        host.open(["true"]).exit_status(5)
    with metronome("lock-step") as port, host.forward(port) as forward:
        together = rounds(forward.url, lambda share: share >= 0.95)
    with metronome("time-sliced") as port, host.forward(port) as forward:
        apart = rounds(forward.url, lambda share: share <= 0.03)
    host.close()
    assert max(together) >= 0.95, (together, apart)
    assert min(apart) <= 0.03, (together, apart)


def rounds(url: str, clear: Callable[[float], bool]) -> list[float]:
    """Read up to fifteen rounds, until one is clear."""
    found: list[float] = []
    while len(found) < 15 and not (found and clear(found[-1])):
        found.append(read(url))
    return found
