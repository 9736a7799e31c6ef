"""What a lab engine may lie about: honest by default, one knob per lie."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """What an engine is configured to be. None of it is a lie.

    Attributes:
        slots: sequences advanced together in one step, each with a private window.
        context: tokens in one private window.
        step_s: seconds one step takes with one active sequence.
        step_growth: how much longer a step takes per further sequence, as a fraction.
        prefill_per_step: prompt tokens one step can read, shared by all prompts being read.
        crlf: end lines with CRLF, send comments, leave out the space after ``data:`` (all legal).
    """

    slots: int = 4
    context: int = 8192
    step_s: float = 0.005
    step_growth: float = 0.12
    prefill_per_step: int = 256
    crlf: bool = False


@dataclass(frozen=True)
class Knobs:
    """One field per lie; the defaults are the truth."""

    # How requests are executed.
    lock_around_generation: bool = False
    batch_default_of_one: bool = False
    time_slicing: bool = False
    time_slicing_counts_rounds: bool = False
    real_slots: int = 0
    hold_output_back: bool = False

    # What the gauges say.
    gauge_counts_admissions: bool = False
    gauge_stuck_high: bool = False
    gauge_always_one: bool = False

    # What a disconnect does.
    ghost_in_decode: bool = False
    ghost_in_prefill: bool = False
    ghost_in_queue: bool = False
    ghost_behind_true_gauge: bool = False
    ghost_every: int = 0
    ghost_unless_streamed: bool = False
    cancel_kills_neighbour: bool = False
    cancel_corrupts_neighbour: bool = False
    cancel_kills_engine: bool = False

    # What health says.
    health_behind_step: bool = False
    health_503_while_busy: bool = False
    slots_hang_in_prefill: bool = False
    metrics_fail_in_prefill: bool = False
    dead: bool = False
    answers_empty: bool = False
    answers_errors: bool = False

    # Tool calls.
    arguments_as_strings: bool = False
    arguments_as_object: bool = False
    arguments_encoded_twice: bool = False
    arguments_cut: bool = False
    tool_call_dropped: bool = False
    tool_call_doubled: bool = False
    tool_finish_stop: bool = False
    tool_operands_swapped: bool = False
    tool_id_missing: bool = False

    # How a stream ends.
    finish_wrong: bool = False
    finish_always_length: bool = False
    finish_null: bool = False
    finish_missing: bool = False
    finish_empty: bool = False
    usage_wrong: bool = False
    usage_missing: bool = False
    done_missing: bool = False
    error_without_done: bool = False
    tokens_lost: bool = False

    # What is read of the prompt.
    drop_head_over: int = 0
    drop_middle_over: int = 0
    drop_tail_over: int = 0
    usage_hides_drop: bool = False
    previous_prompt_leaks: bool = False
    one_pool_waits: bool = False
    one_pool_evicts: bool = False

    # Whose tokens arrive.
    crosstalk: bool = False
    crosstalk_after_cancel: bool = False

    # What a long life does.
    memory_leaks: bool = False
    memory_kept_after_cancel: bool = False
    slows_down: bool = False
    dies_after: int = 0
