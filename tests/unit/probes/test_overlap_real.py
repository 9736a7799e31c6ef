"""Overlap against llama.cpp's own server and a real model: four slots, and one."""

import asyncio

import pytest

from stager.engines.llamacpp import LLAMACPP
from stager.models.evidence import Verdict
from stager.probes.base import run_probe
from stager.probes.overlap import OverlapParameters, OverlapProbe
from stager.probes.target import Claims, Target
from tests.unit.probes.llama import llama


def overlap(slots: int):
    with llama(slots) as url:
        target = Target(url, LLAMACPP, "smollm2", Claims(slots=slots, context=2048))
        parameters = OverlapParameters(streams=4, max_tokens=96, prompt_words=8)
        return {r.finding.claim: r for r in asyncio.run(run_probe(OverlapProbe(), target, parameters))}


@pytest.mark.engine
def test_four_slots_generate_at_once_and_share_steps() -> None:
    """The real four-slot server passes both claims: gauge peak 4, about four tokens per decode, five served on four."""
    results = overlap(4)
    generating, executing = results["generating"].finding, results["executing"].finding
    assert generating.verdict is Verdict.PASSED, generating.reasons
    assert generating.measurements["gauge_peak"].value == 4
    assert generating.measurements["overflow_served"].value == 5
    assert generating.measurements["overflow_generating_at_once"].value == 4
    assert executing.verdict is Verdict.PASSED, executing.reasons
    assert executing.measurements["tokens_per_step"].value > 3.5
    assert {end.finish_reason for end in generating.termination.streams} == {"length"}
    assert ("total_slots", 4) in {(field.name, field.value) for field in generating.configured}


@pytest.mark.engine
def test_one_slot_accepts_four_and_generates_one() -> None:
    """The real one-slot server accepts four requests, serves them one after the other, and fails both claims."""
    results = overlap(1)
    generating, executing = results["generating"].finding, results["executing"].finding
    assert generating.verdict is Verdict.FAILED, generating.reasons
    assert generating.measurements["generating_at_once"].value == 1
    assert generating.measurements["gauge_peak"].value == 1
    assert executing.verdict is Verdict.FAILED, executing.reasons
    assert executing.measurements["tokens_per_step"].value == pytest.approx(1.0, abs=0.02)
