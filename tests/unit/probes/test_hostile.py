"""Servers that attack their client cost a probe bounded memory and time, and yield error evidence."""

import asyncio
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stager.engines.llamacpp import LLAMACPP
from stager.lab.hostile import ATTACKS, attack_server
from stager.models.evidence import Verdict
from stager.probes.base import run_probe
from stager.probes.catalog import PROBES
from stager.probes.target import Claims, Target

#: Small patience, so that a server that only stalls costs little.
PARAMETERS = {
    "function": {"timeout": 0.6, "streams": 2},
    "cancel": {"timeout": 0.6, "deadline": 0.3, "races": 4},
    "health": {"timeout": 0.6, "prompt_tokens": 500},
    "truth": {"timeout": 0.6},
    "needle": {"timeout": 0.6, "prompt_tokens": 500},
    "truncation": {"timeout": 0.6, "prompt_tokens": 500},
    "windows": {"timeout": 0.6, "prompt_tokens": 500},
    "finish": {"timeout": 0.6},
    "crosstalk": {"timeout": 0.6},
    "soak": {"timeout": 0.6, "seconds": 1.0},
}
OTHERS = {"overlap": {"time_limit_s": 10}, "memory": {"timeout": 0.6, "back_within": 0.3}}
MOST_SECONDS = 15.0
MOST_BYTES = 200 * 2**20


async def _no_memory() -> int:
    return 0


def _attacked(name: str, attack: str):
    async def go():
        async with attack_server(attack) as url:
            target = Target(url, LLAMACPP, "m", Claims(slots=2, context=4096), device_memory=_no_memory)
            probe = PROBES[name]
            return await run_probe(probe, target, probe.parameters.model_validate(PARAMETERS[name]))

    return asyncio.run(go())


@contextmanager
def _refusing() -> Iterator[str]:
    """The URL of a port that is taken and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


async def _hanging_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_ends_in_error_evidence(attack: str) -> None:
    """Whatever a server sends, the probe of ends comes back with error, in seconds and some megabytes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    begun = time.monotonic()
    (result,) = _attacked("finish", attack)

    assert result.finding.verdict is Verdict.ERROR, result.finding.reasons
    assert time.monotonic() - begun < MOST_SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < MOST_BYTES
    assert len(result.raw) < 2**20


@pytest.mark.parametrize("probe", PARAMETERS)
@pytest.mark.parametrize("attack", ["endless-stream", "header-bomb"])
def test_no_probe_passes_or_accuses_a_hostile_server(probe: str, attack: str) -> None:
    """A server that breaks the protocol gets error from every probe, never passed and never failed."""
    begun = time.monotonic()
    verdicts = {result.finding.verdict for result in _attacked(probe, attack)}

    assert verdicts == {Verdict.ERROR}
    assert time.monotonic() - begun < MOST_SECONDS


def _run(name: str, url: str):
    target = Target(url, LLAMACPP, "m", Claims(slots=2, context=4096), device_memory=_no_memory)
    probe = PROBES[name]
    return run_probe(probe, target, probe.parameters.model_validate((PARAMETERS | OTHERS)[name]))


@pytest.mark.parametrize("probe", PROBES)
def test_an_engine_that_was_never_reached_is_not_judged(probe: str) -> None:
    """Where every connection is refused, each claim of each probe says error: no request ever met an engine."""
    with _refusing() as url:
        results = asyncio.run(_run(probe, url))
    assert {result.finding.claim for result in results} == set(PROBES[probe].claims)
    assert {result.finding.verdict for result in results} == {Verdict.ERROR}


@pytest.mark.parametrize("probe", PROBES)
def test_a_forward_that_ends_at_nobody_is_not_judged(probe: str) -> None:
    """An SSH forward accepts and then hangs up where nobody listens behind it; that is error too, everywhere."""

    async def go():
        async with await asyncio.start_server(_hanging_up, "127.0.0.1", 0) as server:
            return await _run(probe, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    assert {result.finding.verdict for result in asyncio.run(go())} == {Verdict.ERROR}


def test_the_time_limit_is_a_probes_own() -> None:
    """A probe that would wait for ever is stopped by its own limit and says error."""

    class Impatient(type(PROBES["finish"])):
        def time_limit(self, parameters) -> float:
            return 0.5

    async def go():
        async with attack_server("silence") as url:
            target = Target(url, LLAMACPP, "m")
            return await run_probe(Impatient(), target, Impatient.parameters(timeout=60.0))

    (result,) = asyncio.run(go())
    assert result.finding.verdict is Verdict.ERROR
    assert "time limit" in result.finding.reasons[0]
