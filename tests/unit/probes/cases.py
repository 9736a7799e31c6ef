"""Completion records and overlap data made from arrival times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stager.client.record import Completion, Delta, DeltaKind, Ended, Usage
from stager.probes.calibration import Calibration
from stager.probes.gauges import GaugeSamples
from stager.probes.overlap_data import OverlapData
from stager.probes.steps import StepWindow
from tests.unit.probes import simulate

GOOD_CALIBRATION = Calibration(
    step_ms=25.0,
    streams=4,
    latency_ms=0.3,
    jitter_ms=0.2,
    jitter_p50_ms=0.02,
    jitter_p99_ms=0.5,
    lock_step=1.0,
    time_sliced=0.0,
    tokens=320,
    events_per_second=160.0,
)


def completion(times: Sequence[int], **changes: Any) -> Completion:
    """A whole stream with one token at each time, sent at 0, ended with ``length``."""
    whole: dict[str, Any] = {
        "path": "/v1/completions",
        "streamed": True,
        "started_ns": 0,
        "sent_ns": 0,
        "headers_ns": 1,
        "ended_ns": (times[-1] if times else 0) + 1,
        "ended": Ended.COMPLETE,
        "status": 200,
        "reused_connection": True,
        "reads": (),
        "deltas": tuple(Delta(at, DeltaKind.CONTENT, "a") for at in times),
        "tool_calls": (),
        "finish_reasons": ("length",),
        "usage": Usage(20, len(times), 0, with_choices=True),
        "done_markers": 1,
        "after_done": 0,
        "comments": 0,
        "first_event_ns": times[0] if times else None,
        "faults": (),
        "error": None,
        "extras": {},
        "raw": b"",
        "raw_truncated": False,
    }
    return Completion(**(whole | changes))


def gauge(value: float, arrivals: Sequence[Sequence[int]], *, measured: bool = True, samples: int = 40) -> GaugeSamples:
    """A gauge that read the same value all the time the streams took."""
    end = max((times[-1] for times in arrivals if times), default=0)
    asked = [end * number // samples for number in range(samples)]
    return GaugeSamples("/metrics#active", measured, 0.1, samples, tuple((at, at + 1, value) for at in asked), ())


def overlap_data(arrivals: Sequence[Sequence[int]], **changes: Any) -> OverlapData:
    """An experiment whose streams arrived so, everything else in order; ``changes`` replaces parts."""
    streams = len(arrivals)
    tokens = sum(map(len, arrivals))
    whole: dict[str, Any] = {
        "streams": streams,
        "claimed_slots": streams,
        "completions": tuple(completion(times) for times in arrivals),
        "controls": tuple(completion(simulate.batched(1, 64, 25.0, 0.1, seed)[0]) for seed in (1, 2)),
        "start_spread": 0.001,
        "warmed": streams,
        "expected_tokens": len(arrivals[0]) if arrivals else None,
        "gauge": gauge(streams, arrivals),
        "idle_before": True,
        "idle_after": True,
        "steps": StepWindow(tokens, tokens / streams),
        "step_source": "counted",
        "overflow": None,
        "calibration": GOOD_CALIBRATION,
        "calibration_fault": "",
    }
    return OverlapData(**(whole | changes))
