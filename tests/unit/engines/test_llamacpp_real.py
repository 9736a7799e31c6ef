"""llama.cpp's adapter against the real server: every place it names is there, and says what the adapter says."""

import asyncio
import json

import pytest

from stager.client.completion import CompletionRequest, complete
from stager.client.connection import connect
from stager.engines.llamacpp import LLAMACPP
from stager.engines.reading import read, read_number, resolve
from tests.unit.probes.llama import llama


@pytest.mark.engine
def test_every_place_the_adapter_names_is_there() -> None:
    """Gauges read zero at rest, counters grow by a generation's tokens, claims match the configuration."""

    async def go(url: str):
        async with connect(url) as connection:

            async def value(reading):
                return read((reading), (await connection.get(reading.path)).body)

            gauges = [await value(one) for one in (*LLAMACPP.active, *LLAMACPP.busy, *LLAMACPP.waiting)]
            claims = {one.name: await value(one) for one in LLAMACPP.configured}
            tokens = await value(LLAMACPP.steps.tokens)
            path, body = LLAMACPP.generation("smollm2", "Once upon a time", max_tokens=7)
            record = await complete(connection, CompletionRequest(path, body))
            grown = await value(LLAMACPP.steps.tokens) - tokens
            count = await connection.post_json(
                LLAMACPP.tokenize.path, {LLAMACPP.tokenize.text_key: "Once upon a time", **LLAMACPP.tokenize.extra}
            )
            request = LLAMACPP.token_request("smollm2")
            answer = await connection.post_json(request.path, request.body)
            return gauges, claims, record, grown, count, answer, (await connection.get(LLAMACPP.health)).ok

    with llama(2) as url:
        gauges, claims, record, grown, count, answer, healthy = asyncio.run(go(url))
    assert gauges == [0] * len(gauges)
    assert claims == {"total_slots": 2, "n_ctx": 2048}
    assert record.whole, record.error
    assert record.faults == ()
    assert (record.finish_reason, record.completion_tokens, grown) == ("length", 7, 7)
    assert len(resolve(json.loads(count.body), LLAMACPP.tokenize.pointer)) == record.prompt_tokens
    assert json.loads(answer.body)["usage"]["completion_tokens"] == 1
    assert healthy


def test_numbers_of_the_recorded_kind_are_numbers() -> None:
    """The slots form counts only those that are processing."""
    body = b'[{"id":0,"n_ctx":2048,"is_processing":true},{"id":1,"n_ctx":2048,"is_processing":false}]'
    assert read_number(LLAMACPP.active[1], body) == 1
