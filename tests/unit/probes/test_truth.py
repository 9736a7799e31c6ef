"""A healthy answer must be followed by a token."""

import asyncio

from stager.lab.knobs import Knobs, Shape
from stager.models.evidence import Verdict
from stager.probes.calibrate_settings import lab_target
from stager.probes.truth import TruthParameters, TruthProbe
from tests.unit.client.wire import DONE, END, saying, serving, token
from tests.unit.probes.bench import finding


def test_the_honest_engine_answers_every_time() -> None:
    """Five healthy answers, five tokens, and the longest wait is in the evidence."""
    found = finding("truth")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.sample_count == found.measurements["tokens_followed"].value == 5
    assert found.measurements["longest_wait_for_a_token"].value > 0


def test_a_dead_engine_is_found_out_by_its_silence() -> None:
    """Health 200 with nothing behind it fails within the patience for one token, and is not called an error."""
    found = finding("truth", Knobs(dead=True), timeout=0.5)
    assert found.verdict is Verdict.FAILED
    assert "no token followed" in found.reasons[0]
    assert found.sample_count == 1


def test_a_remembered_answer_is_no_token() -> None:
    """Every question is a new one, so that a cache in front of a dead engine cannot answer it."""

    async def go() -> list[bytes]:
        async with serving(saying(token(), END, DONE)) as wire:
            target = lab_target(wire.url, Shape())
            found = (await TruthProbe().run(target, TruthParameters()))[0].finding
            assert found.verdict is Verdict.PASSED, found.reasons
            return [request for request in wire.requests if request.startswith(b"POST")]

    asked = asyncio.run(go())
    assert len(asked) == len(set(asked)) == 5


def test_nobody_there_is_an_error() -> None:
    """Without a server nothing was claimed, so nothing is refuted."""
    assert finding("truth", target={"base_url": "http://127.0.0.1:9"}).verdict is Verdict.ERROR
