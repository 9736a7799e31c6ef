"""Which measurements of a claim are read first; the rest is in the document and under `stager evidence show`."""

from __future__ import annotations

from stager.models.evidence import Evidence, Measurement

#: By ``probe/claim``; a name that is not there is passed over.
HEADLINES: dict[str, tuple[str, ...]] = {
    "overlap/generating": (
        "gauge_peak",
        "generating_at_once",
        "streams",
        "shared_span",
        "ttft_min",
        "ttft_max",
        "overflow_served",
    ),
    "overlap/executing": (
        "tokens_per_step",
        "co_arrival",
        "co_arrival_null",
        "scaling",
        "scaling_low",
        "scaling_high",
        "throughput_together",
        "throughput_alone",
    ),
    "finish/honest-ends": (
        "chat_stream_cut_usage",
        "chat_stream_cut_arrived",
        "chat_plain_cut_usage",
        "chat_plain_cut_arrived",
    ),
    "function/typed-calls": ("right_calls", "streams", "most_at_once_streamed", "most_at_once_plain"),
    "truth/answering": ("tokens_followed", "healthy_answers", "longest_wait_for_a_token"),
}

#: So many are shown of a claim that has no headlines of its own.
OTHERWISE = 8


def headlines(evidence: Evidence) -> dict[str, Measurement]:
    """Return the measurements to show in a summary, in reading order."""
    chosen = HEADLINES.get(f"{evidence.probe}/{evidence.claim}", ())
    found = {name: evidence.measurements[name] for name in chosen if name in evidence.measurements}
    return found or dict(list(evidence.measurements.items())[:OTHERWISE])
