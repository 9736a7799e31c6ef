"""TabbyAPI over ExLlamaV3: no gauge at all, so everything must be seen from outside."""

from __future__ import annotations

from stager.engines.base import Engine, Tokenize
from stager.engines.reading import Kind, Reading

TABBYAPI = Engine(
    name="tabbyapi",
    read_in="TabbyAPI e632af4, ExLlamaV3 4f8ad01 (v1.4.1)",
    health="/health",
    configured=(
        Reading(
            name="max_batch_size",
            path="/v1/model",
            pointer="/parameters/max_batch_size",
            kind=Kind.CONFIGURED,
            source="backends/exllamav3/model.py:358-359: its own config value, not the generator's, which clamps to "
            "cache.num_slots (generator.py:239); the write-back at model.py:756 is dead code",
        ),
        Reading(
            name="max_seq_len",
            path="/v1/model",
            pointer="/parameters/max_seq_len",
            kind=Kind.CONFIGURED,
            source="capped to cache_size without a word",
        ),
        Reading(
            name="total_slots",
            path="/props",
            pointer="/total_slots",
            kind=Kind.CONFIGURED,
            source="core/router.py:147: the same config value again",
        ),
    ),
    exact_length={"min_tokens": "max_tokens"},
    cancel_grace=5.0,
    tokenize=Tokenize(path="/v1/token/encode", text_key="text", pointer="/length"),
    quirks=(
        "no gauge and no metrics endpoint: the generator's job list is not served",
        "/health holds past issues and never clears them; a hung generator stays 200",
        "one iteration runs on the event loop, so no endpoint answers while a chunk is being prefilled",
        "lines end in CRLF and a ping comment comes every 15 s",
        "the only finish_reason rides on the usage chunk; an error in mid-stream is not followed by [DONE]",
        "only max_new_tokens ends with length; loops and filters end with stop and say so in eos_reason",
        "a disconnect is noticed only when results arrive, so a prefill goes on to its end",
    ),
)
