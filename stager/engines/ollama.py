"""Ollama, through its OpenAI-compatible routes."""

from __future__ import annotations

from stager.engines.base import Engine
from stager.engines.reading import Kind, Reading

OLLAMA = Engine(
    name="ollama",
    read_in="Ollama fb30760",
    health="/api/version",
    warm="/api/version",
    configured=(
        Reading(
            name="context_length",
            path="/api/ps",
            pointer="/models/0/context_length",
            kind=Kind.COMPUTED,
            source="the num_ctx of the loaded runner",
        ),
    ),
    cancel_grace=5.0,
    finish_aliases={"": "missing"},
    quirks=(
        "no gauge and no concurrency field: /api/ps shows sizes and the context length only",
        "OLLAMA_NUM_PARALLEL is forced to 1 for several model families with a warning only (server/sched.go:497-510)",
        "the OpenAI route has no num_ctx: a long prompt is cut to the runner's window under status 200 (3839)",
        "a cut prompt keeps num_keep tokens and the last half: the head is lost",
        "older versions send finish_reason as an empty text in every chunk (4357)",
    ),
)
