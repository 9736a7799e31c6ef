"""Which measurements of a claim are read first; the rest is in the document and under `stager evidence show`."""

from __future__ import annotations

from stager.models.evidence import Evidence, Measurement

_SLOTS_AFTER = ("full_width_ttft", "full_width_ttft_control", "slots_free_again")

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
    "cancel/decoding": ("cancels", "races", "gauge_samples", "decode_close_recovery", "deadline", *_SLOTS_AFTER),
    "cancel/prefilling": ("cancels", "gauge_samples", "prefill_close_recovery", "deadline", *_SLOTS_AFTER),
    "cancel/queued": (
        "cancels",
        "gauge_samples",
        "queued_close_out_of_queue",
        "queued_close_out_of_queue_once_slots_were_free",
        "deadline",
        *_SLOTS_AFTER,
    ),
    "cancel/unstreamed": (
        "cancels",
        "gauge_samples",
        "decode_close_plain_recovery",
        "prefill_close_plain_recovery",
        "queued_close_plain_recovery",
        "deadline",
        *_SLOTS_AFTER,
    ),
    "crosstalk/separate": ("streams", "fewest_repeats"),
    "finish/honest-ends": (
        "chat_stream_cut_usage",
        "chat_stream_cut_arrived",
        "chat_plain_cut_usage",
        "chat_plain_cut_arrived",
    ),
    "function/typed-calls": ("right_calls", "streams", "most_at_once_streamed", "most_at_once_plain"),
    "health/readable": (
        "health_max",
        "health_p99",
        "health_p50",
        "health_errors",
        "health_obtained",
        "health_longest_gap",
        "control_max",
        "prompt_tokens",
        "prefill",
    ),
    "memory/returned": ("floor", "bytes_per_token", "r_squared"),
    "needle/retrieved": (
        "needles_found",
        "needles_hidden",
        "prompt_tokens",
        "absent_fact_invented",
        "seconds_to_first_token",
    ),
    "soak/steady": ("requests", "lasted", "drift", "token_time_early", "token_time_late", "idle_at_the_end"),
    "truncation/untruncated": ("prompt_tokens", "prompt_tokens_expected", "beyond_window"),
    "truth/answering": ("tokens_followed", "healthy_answers", "longest_wait_for_a_token"),
    "windows/private": ("windows_side_by_side", "streams", "heads_told", "prompt_tokens_sent"),
}

#: So many are shown of a claim that has no headlines of its own.
OTHERWISE = 8


def headlines(evidence: Evidence) -> dict[str, Measurement]:
    """Return the measurements to show in a summary, in reading order."""
    chosen = HEADLINES.get(f"{evidence.probe}/{evidence.claim}", ())
    found = {name: evidence.measurements[name] for name in chosen if name in evidence.measurements}
    return found or dict(list(evidence.measurements.items())[:OTHERWISE])
