"""vLLM's OpenAI server."""

from __future__ import annotations

from stager.engines.base import Engine, StepCounter, Tokenize
from stager.engines.reading import Kind, Reading

_METRICS = "/metrics"

RUNNING = Reading(
    name="num_requests_running",
    path=_METRICS,
    metric="vllm:num_requests_running",
    kind=Kind.MEASURED,
    source="v1/core/sched/scheduler.py:2922: length of the running list; not all of it is scheduled in each step",
)

VLLM = Engine(
    name="vllm",
    read_in="vLLM 0.33.0",
    active=(RUNNING,),
    waiting=(
        Reading(
            name="num_requests_waiting",
            path=_METRICS,
            metric="vllm:num_requests_waiting",
            kind=Kind.MEASURED,
            source="v1/metrics/loggers.py:528-739: length of the waiting queue",
        ),
    ),
    busy=(RUNNING,),
    steps=StepCounter(
        tokens=Reading(
            name="iteration_tokens_sum",
            path=_METRICS,
            metric="vllm:iteration_tokens_total_sum",
            kind=Kind.MEASURED,
            source="v1/metrics/loggers.py:887-894: prompt tokens computed and tokens generated, per engine step",
        ),
        steps=Reading(
            name="iteration_tokens_count",
            path=_METRICS,
            metric="vllm:iteration_tokens_total_count",
            kind=Kind.MEASURED,
            source="v1/engine/async_llm.py:884: engine steps that produced output",
        ),
        includes_prompt=True,
        source="only steps that produced output are observed, so chunks in mid-prefill are absent; "
        "speculative decoding puts several tokens of one stream into a step",
    ),
    configured=(
        Reading(
            name="max_model_len",
            path="/v1/models",
            pointer="/data/0/max_model_len",
            kind=Kind.CONFIGURED,
            source="the --max-model-len in force",
        ),
    ),
    exact_length={"ignore_eos": True, "min_tokens": "max_tokens"},
    cancel_grace=3.0,
    tokenize=Tokenize(path="/tokenize", text_key="prompt", pointer="/count"),
    quirks=(
        "/health stays 200 while the engine core hangs: it sees only a dead one",
        "the running gauge has been stuck high after aborts (22545) and the aborted counter at zero (31503)",
        "an error in mid-stream comes under status 200 and is followed by [DONE]",
        "a forced named tool ends with finish_reason stop",
        "prefix caching is on by default: prompts must differ from their first word on",
    ),
)
