"""The probes against llama.cpp's own server and a real model: real numbers, and the truth about a small model."""

import asyncio

import pytest

from stager.engines.llamacpp import LLAMACPP
from stager.models.evidence import Finding, Verdict
from stager.probes.base import ProbeResult, run_probe
from stager.probes.catalog import PROBES
from stager.probes.target import Claims, Target
from tests.unit.probes.llama import llama

#: Runs of the cancel probe until each phase that llama.cpp masters has passed in one.
TRIES = 3

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


def _real(probe: str, **parameters) -> tuple[ProbeResult, ...]:
    with llama(4) as url:
        target = Target(url, LLAMACPP, "smollm2", Claims(slots=4, context=2048))
        wanted = PROBES[probe].parameters.model_validate(parameters)
        return asyncio.run(run_probe(PROBES[probe], target, wanted))


def test_ends_are_honest() -> None:
    """llama.cpp's stop and length are true, streamed and plain, and usage equals what arrived but for the end token."""
    (result,) = _real("finish")
    assert result.finding.verdict is Verdict.PASSED, result.finding.reasons
    assert result.finding.measurements["chat_stream_cut_usage"].value == 32
    assert result.finding.measurements["chat_stream_own_end_usage"].value < 96


def test_smollm2_calls_no_tool() -> None:
    """The model's template knows no tools, so the probe says in every stream that no call came."""
    (result,) = _real("function")
    assert result.finding.verdict is Verdict.FAILED
    assert result.finding.measurements["right_calls"].value == 0
    assert all("no tool call came" in reason for reason in result.finding.reasons)


def test_health_is_followed_by_tokens() -> None:
    """Five healthy answers, five tokens."""
    (result,) = _real("truth")
    assert result.finding.verdict is Verdict.PASSED, result.finding.reasons


def test_a_needles_prompt_is_counted_as_sent() -> None:
    """The real prompt_tokens equal the server's own count; what the small model tells is in the evidence either way."""
    (result,) = _real("needle", prompt_tokens=700)
    found = result.finding
    assert found.verdict in (Verdict.PASSED, Verdict.FAILED)
    assert found.measurements["prompt_tokens"].value == found.measurements["prompt_tokens_expected"].value
    assert found.measurements["prompt_tokens"].value == pytest.approx(700, rel=0.05)
    assert all("needle at" in reason for reason in found.reasons)  # never a wrong count, never a leak


def test_health_is_readable_through_a_prefill() -> None:
    """At least fifty questions were due while a long prompt was read, and none of them failed."""
    results = {result.finding.claim: result.finding for result in _real("health", prompt_tokens=1200, rate_hz=20)}
    readable = results["readable"]
    assert readable.verdict is Verdict.PASSED, readable.reasons
    assert readable.measurements["health_obtained"].value >= 50
    assert readable.measurements["health_errors"].value == 0
    assert readable.measurements["idle_afterwards"].value is True


def test_a_prompt_beyond_the_window_is_refused() -> None:
    """llama.cpp reads what fits whole and refuses more aloud; where the model's own limits show, they are called so."""
    (result,) = _real("truncation", prompt_tokens=900)
    found = result.finding
    assert found.measurements["prompt_tokens"].value == found.measurements["prompt_tokens_expected"].value
    if found.verdict is not Verdict.FAILED:
        assert found.measurements["beyond_window"].value == "refused"


def _cancelled(phases: list[str], *, unstreamed: bool = False) -> dict[str, Finding]:
    results = _real("cancel", phases=phases, ways=["close"], races=4, prompt_tokens=500, unstreamed=unstreamed)
    return {result.finding.claim: result.finding for result in results}


@pytest.mark.timeout(1200)  # on one thread of a busy machine a step may take a second, and every deadline has one in it
def test_cancelled_streams_are_let_go_but_in_the_queue() -> None:
    """llama.cpp lets go of what it decodes or reads; who waits behind busy slots waits on, its client gone or not.

    Its server looks for a disconnect only when a second went by without a token of anybody's, and not at all where no
    stream was asked for: that job runs to its end. A busy machine may leave a run undecided (a pace that changes, a
    prompt read sooner than its control), but not every one of a few.
    """
    claims = {"decode": "decoding", "prefill": "prefilling"}
    found = _cancelled([*claims, "queued"], unstreamed=True)
    queued, unstreamed = found["queued"], found["unstreamed"]
    undecided = list(claims)
    for trial in range(TRIES):
        for name in undecided:
            one = found[claims[name]]
            assert one.verdict in (Verdict.PASSED, Verdict.INCONCLUSIVE), one.reasons
            assert one.measurements[f"{name}_close_recovery"].value < one.measurements["deadline"].value
        undecided = [name for name in undecided if found[claims[name]].verdict is not Verdict.PASSED]
        if not undecided:
            break
        if trial + 1 < TRIES:
            found |= _cancelled(undecided)
    assert not undecided, [found[claims[name]].reasons for name in undecided]
    assert queued.verdict is Verdict.FAILED, queued.reasons
    assert "requests_deferred still read 1" in queued.reasons[0]
    assert unstreamed.verdict is Verdict.FAILED, unstreamed.reasons
    assert unstreamed.reasons[0].startswith("decode_close_plain: ")
    assert queued.measurements["queued_close_out_of_queue_once_slots_were_free"].value is not None
