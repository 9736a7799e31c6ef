"""The raw samples of an experiment as JSON-ready data: times in microseconds from the first request sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stager.client.record import Completion
from stager.probes.gauges import GaugeSamples
from stager.probes.overlap_data import OverlapData

_MOST_TEXT = 1 << 18


def raw_document(data: OverlapData) -> dict[str, Any]:
    """Everything the overlap verdicts were drawn from."""
    origin = origin_of(data.completions)
    return {
        "unit": "microseconds from the first request sent",
        "streams": [raw_completion(completion, origin) for completion in data.completions],
        "controls": [raw_completion(completion, origin_of([completion])) for completion in data.controls],
        "gauge": raw_gauge(data.gauge, origin),
        "steps": None if data.steps is None else {"tokens": data.steps.tokens, "steps": data.steps.steps},
        "overflow": [raw_completion(c, origin_of(data.overflow.completions)) for c in data.overflow.completions]
        if data.overflow
        else None,
        "calibration": data.calibration.document() if data.calibration else None,
    }


def origin_of(completions: Sequence[Completion]) -> int:
    """The moment of the first request sent."""
    return min((completion.sent_ns or completion.started_ns for completion in completions), default=0)


def raw_completion(completion: Completion, origin: int) -> dict[str, Any]:
    """One request's record: ends, usage, every read and every piece of output with its time, the bytes as text."""
    return {
        "path": completion.path,
        "status": completion.status,
        "ended": completion.ended.value,
        "error": completion.error,
        "faults": list(completion.faults),
        "finish_reasons": list(completion.finish_reasons),
        "usage": completion.usage
        and {"prompt_tokens": completion.usage.prompt_tokens, "completion_tokens": completion.usage.completion_tokens},
        "done_markers": completion.done_markers,
        "reused_connection": completion.reused_connection,
        "sent": micros(completion.sent_ns, origin),
        "headers": micros(completion.headers_ns, origin),
        "over": micros(completion.ended_ns, origin),
        "reads": [[micros(read.at_ns, origin), read.size, read.events] for read in completion.reads],
        "tokens": [micros(delta.at_ns, origin) for delta in completion.deltas],
        "bytes": completion.raw[:_MOST_TEXT].decode(errors="replace"),
        "bytes_cut": completion.raw_truncated or len(completion.raw) > _MOST_TEXT,
    }


def raw_gauge(gauge: GaugeSamples | None, origin: int) -> dict[str, Any] | None:
    """All samples of a gauge."""
    if gauge is None:
        return None
    return {
        "where": gauge.where,
        "interval_s": gauge.interval,
        "expected": gauge.expected,
        "samples": [[micros(a, origin), micros(b, origin), value] for a, b, value in gauge.values],
        "errors": list(gauge.errors[:100]),
    }


def micros(at_ns: int | None, origin: int) -> int | None:
    """Microseconds from the origin."""
    return None if at_ns is None else (at_ns - origin) // 1000
