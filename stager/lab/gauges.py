"""What the lab engine tells about itself; here its gauges may lie."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import dataclass

from stager.lab.knobs import Knobs
from stager.lab.sequence import Phase, Sequence


@dataclass
class Counters:
    """Totals since the start, counted the way llama.cpp's server does (tokens when a slot is released)."""

    steps: int = 0
    prompt_tokens: int = 0
    predicted_tokens: int = 0
    busy_slots: int = 0
    finished: int = 0
    cancels: int = 0


@dataclass(frozen=True)
class Gauges:
    """Requests in slots and requests waiting, as published."""

    processing: int
    deferred: int


def read_gauges(
    active: Ordered[Sequence], waiting: Ordered[Sequence], counters: Counters, knobs: Knobs, slots: int
) -> Gauges:
    """Return the published gauges; honest unless a gauge knob is set."""
    counted = [s for s in active if s.phase is not Phase.OVER and not (knobs.ghost_behind_true_gauge and s.ghost)]
    processing, deferred = len(counted), len(waiting)
    if knobs.gauge_counts_admissions:
        processing = min(slots, processing + deferred)
    if knobs.gauge_always_one:
        processing = min(1, processing)
    if knobs.gauge_stuck_high:
        processing += counters.cancels
    return Gauges(processing, deferred)


def metrics_text(gauges: Gauges, counters: Counters) -> str:
    """Return the Prometheus text in llama.cpp's names."""
    rows = (
        ("prompt_tokens_total", "counter", counters.prompt_tokens),
        ("tokens_predicted_total", "counter", counters.predicted_tokens),
        ("n_decode_total", "counter", counters.steps),
        ("n_busy_slots_per_decode", "gauge", counters.busy_slots / max(1, counters.steps)),
        ("requests_processing", "gauge", gauges.processing),
        ("requests_deferred", "gauge", gauges.deferred),
    )
    return "".join(f"# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value}\n" for name, kind, value in rows)
