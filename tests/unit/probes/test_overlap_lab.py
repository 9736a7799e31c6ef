"""Overlap from end to end against the lab engine: its evidence, and an engine seen from outside only."""

import asyncio
import json

from stager.engines.llamacpp import LLAMACPP
from stager.engines.openai import OPENAI
from stager.lab.knobs import Knobs, Shape
from stager.lab.process import lab_process
from stager.models.evidence import Verdict
from stager.probes.base import run_probe
from stager.probes.overlap import OverlapParameters, OverlapProbe
from stager.probes.target import Claims, Target

PARAMETERS = OverlapParameters(max_tokens=100, prompt_words=8)
SHAPE = Shape(step_s=0.015)


def overlap(engine, knobs: Knobs | None = None, slots: int | None = 4, shape: Shape = SHAPE):
    async def go():
        async with lab_process() as lab:
            target = Target(await lab.start(shape, knobs), engine, "lab", Claims(slots=slots))
            return await run_probe(OverlapProbe(), target, PARAMETERS)

    return {result.finding.claim: result for result in asyncio.run(go())}


def test_the_evidence_says_what_it_is() -> None:
    """Two findings with samples, ends per stream, claims beside them, limits in words, and raw samples that agree."""
    results = overlap(LLAMACPP)
    generating = results["generating"].finding
    assert generating.verdict is Verdict.PASSED, generating.reasons
    assert generating.measurements["gauge_peak"].value == 4
    assert generating.sample_count == generating.measurements["gauge_samples_obtained"].value
    assert "requests_processing" in generating.sampled
    assert [end.finish_reason for end in generating.termination.streams] == ["length"] * 4
    assert {field.endpoint for field in generating.configured} >= {"playbook", "/props#/total_slots"}
    assert len(generating.not_proven) >= 3
    executing = results["executing"].finding
    assert executing.verdict is Verdict.PASSED, executing.reasons
    assert executing.measurements["tokens_per_step"].value > 3
    raw = json.loads(results["executing"].raw)
    assert [len(stream["tokens"]) for stream in raw["streams"]] == [100] * 4
    assert sum(read[2] for read in raw["streams"][0]["reads"]) >= 100
    assert raw["streams"][0]["bytes"].count("data:") >= 100
    assert len(raw["gauge"]["samples"]) == generating.sample_count
    vantage = results["generating"].vantage
    assert (vantage.client, vantage.path) == ("controller", "direct")
    assert vantage.client_jitter_ms is not None
    assert vantage.calibration["time_sliced"] is not None


def test_an_engine_without_gauge_and_counter_passes_from_outside() -> None:
    """Seen through the plain OpenAI routes only, four streams at once pass claim 2, and claim 3 is never refuted."""
    results = overlap(OPENAI, slots=None)
    assert results["generating"].finding.verdict is Verdict.PASSED, results["generating"].finding.reasons
    assert results["executing"].finding.verdict in (Verdict.PASSED, Verdict.INCONCLUSIVE)
    assert any("engine's own count" in sentence for sentence in results["executing"].finding.not_proven)


def test_a_lock_around_generation_fails_from_outside() -> None:
    """Without any help from the server, one generation at a time is refuted by when tokens came."""
    results = overlap(OPENAI, Knobs(lock_around_generation=True), slots=None, shape=Shape())
    assert results["generating"].finding.verdict is Verdict.FAILED
    assert results["executing"].finding.verdict is Verdict.FAILED


def test_nobody_there_is_an_error() -> None:
    """Without a server there is no experiment, and the findings say error."""
    target = Target("http://127.0.0.1:9", LLAMACPP, "m")
    results = asyncio.run(run_probe(OverlapProbe(), target, PARAMETERS))
    assert {result.finding.verdict for result in results} == {Verdict.ERROR}
