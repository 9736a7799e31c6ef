"""Servers that attack their client cost a probe bounded memory and time, and yield error evidence."""

import asyncio
import resource
import time

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
#: Probes that first ask for counts say inconclusive where a server counts nothing.
COUNTING = ("health", "needle", "truncation", "windows")
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
    """A server that breaks the protocol gets error, or inconclusive where not even a count came; never passed."""
    begun = time.monotonic()
    verdicts = {result.finding.verdict for result in _attacked(probe, attack)}

    allowed = {Verdict.ERROR, Verdict.INCONCLUSIVE} if probe in COUNTING else {Verdict.ERROR}
    assert verdicts <= allowed
    assert time.monotonic() - begun < MOST_SECONDS


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
