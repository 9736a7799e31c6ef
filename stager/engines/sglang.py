"""SGLang's server."""

from __future__ import annotations

from stager.engines.base import Engine
from stager.engines.reading import Kind, Reading

LOADS = Reading(
    name="num_running_reqs",
    path="/v1/loads",
    pointer="/aggregate/total_running_reqs",
    kind=Kind.MEASURED,
    source="load_inquirer.py:112: requests in the running batches of all ranks, asked live",
)
GAUGE = Reading(
    name="num_running_reqs",
    path="/metrics",
    metric="sglang:num_running_reqs",
    kind=Kind.MEASURED,
    source="metrics_reporter.py:933,1076: refreshed only every decode-log interval, and so stale in between",
)

SGLANG = Engine(
    name="sglang",
    read_in="SGLang 0.5.23",
    health="/health",
    health_floor=1.0,
    health_generates=True,
    active=(LOADS, GAUGE),
    waiting=(
        Reading(
            name="total_waiting_reqs",
            path="/v1/loads",
            pointer="/aggregate/total_waiting_reqs",
            kind=Kind.MEASURED,
            source="load_inquirer.py: length of the waiting queues of all ranks, asked live",
        ),
        Reading(
            name="num_queue_reqs",
            path="/metrics",
            metric="sglang:num_queue_reqs",
            kind=Kind.MEASURED,
            source="metrics_reporter.py: length of the waiting queue, refreshed as the running gauge is",
        ),
    ),
    busy=(LOADS, GAUGE),
    configured=(
        Reading(
            name="max_running_requests",
            path="/server_info",
            pointer="/max_running_requests",
            kind=Kind.COMPUTED,
            source="kv_cache_configurator.py:3119-3150: clamped at start; mamba-state slots cap it with a warning only",
        ),
    ),
    exact_length={"ignore_eos": True},
    cancel_grace=4.0,
    finish_aliases={"abort": "aborted"},
    quirks=(
        "/health runs a real one-token generation, takes a second by design, and occupies a slot",
        "a disconnect is acted on after 2 s, and only if the request is still known then (36333, 36876)",
        "max_running_requests_under_SLO is a metric that nothing sets (scheduler.py:1297)",
        "an error in mid-stream comes under status 200 and is followed by [DONE]",
    ),
)
