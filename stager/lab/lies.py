"""Every lie the lab engine can tell, the probe that must catch it, and the public report it is modelled on.

Report numbers are GitHub issues or pull requests, ``owner/name number`` (anchors/probes.md, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

from stager.lab.knobs import Knobs, Shape


@dataclass(frozen=True)
class Lie:
    """One way of not being what one claims.

    Attributes:
        name: the knob's name with dashes, or a combination's own name.
        probe: the probe that is meant to catch it.
        knobs: how the engine is made to lie.
        story: what such an engine does, in one sentence.
        seen_in: where this has been reported in public; empty where it is only to be expected.
        shape: the engine's shape where the lie needs its own.
        unmeasurable: the lie hides the truth rather than bending it, so ``inconclusive`` catches it as well.
    """

    name: str
    probe: str
    knobs: Knobs
    story: str
    seen_in: str = ""
    shape: Shape | None = None
    unmeasurable: bool = False


def _lie(probe: str, story: str, seen_in: str = "", *, name: str = "", **settings: bool | int) -> Lie:
    """A lie of one knob, named after it, unless several knobs make it up."""
    name = name or next(iter(settings)).replace("_", "-")
    return Lie(name, probe, Knobs(**settings), story, seen_in)  # type: ignore[arg-type]


_OVERLAP = (
    _lie(
        "overlap",
        "A lock around generation: one request at a time, the others wait.",
        "swama 116; abetlen/llama-cpp-python server",
        lock_around_generation=True,
    ),
    _lie(
        "overlap",
        "All requests get a slot, but a default batch of one advances only the first.",
        "ExLlamaV3 -ambs 1; ollama/ollama 14510",
        batch_default_of_one=True,
    ),
    _lie(
        "overlap",
        "Time-slicing: the streams interleave perfectly, one sequence a step.",
        "anchors/probes.md 2.4",
        time_slicing=True,
    ),
    _lie(
        "overlap",
        "Time-slicing, with a step counter that counts whole rounds and so reads four tokens a step.",
        name="time-slicing-counts-rounds",
        time_slicing=True,
        time_slicing_counts_rounds=True,
    ),
    _lie(
        "overlap",
        "A gauge that counts admissions, over a lock.",
        "vllm scheduler running list",
        name="gauge-counts-admissions",
        lock_around_generation=True,
        gauge_counts_admissions=True,
    ),
    _lie(
        "overlap",
        "The batch limit is a constant: four are promised, two run.",
        "ollama/ollama 14638, 14879",
        name="constant-batch-limit",
        real_slots=2,
    ),
    Lie(
        "gauge-always-one",
        "overlap",
        Knobs(gauge_always_one=True),
        "A gauge that never says more than one, whatever runs.",
        "sglang metrics_reporter (stale gauge)",
        unmeasurable=True,
    ),
    Lie(
        "hold-output-back",
        "overlap",
        Knobs(lock_around_generation=True, hold_output_back=True),
        "Output is held back and flushed at the end, so that nobody can see when it was made.",
        "model-serving-minefield trap 80",
        unmeasurable=True,
    ),
)

_CANCEL = (
    _lie(
        "cancel",
        "A job goes on after its client left while it was decoding.",
        "ggml-org/llama.cpp 11720, 24496",
        ghost_in_decode=True,
    ),
    _lie(
        "cancel",
        "A job goes on after its client left while the prompt was read.",
        "ggml-org/llama.cpp 15232; ikawrakow/ik_llama.cpp 1020",
        ghost_in_prefill=True,
    ),
    _lie(
        "cancel",
        "A job runs although its client left while it was queued.",
        "sgl-project/sglang 31765",
        ghost_in_queue=True,
    ),
    _lie(
        "cancel",
        "Ghosts keep their slots while the gauge says that all is quiet.",
        "anchors/probes.md 9",
        ghost_behind_true_gauge=True,
    ),
    _lie(
        "cancel",
        "Every fifth cancel is lost in a race.",
        "sgl-project/sglang 36333, 36876",
        name="ghost-in-a-race",
        ghost_every=5,
    ),
    _lie(
        "cancel",
        "The gauge never comes down again, though nothing runs: a false ghost.",
        "vllm-project/vllm 22545",
        gauge_stuck_high=True,
    ),
    _lie(
        "cancel",
        "One client's disconnect ends every stream.",
        "osaurus-ai/osaurus PR 2563; llama-cpp-python interrupt_requests",
        cancel_kills_neighbour=True,
    ),
    _lie(
        "cancel",
        "One client's disconnect changes what the neighbour is told.",
        cancel_corrupts_neighbour=True,
    ),
    _lie(
        "cancel",
        "A disconnect brings the engine down, while its server goes on.",
        "openvinotoolkit/model_server 4428",
        cancel_kills_engine=True,
    ),
)

_HEALTH = (
    _lie(
        "health",
        "Health answers only between prompts: it waits behind the step.",
        "ikawrakow/ik_llama.cpp 1210; huggingface/text-generation-inference 2348",
        health_behind_step=True,
    ),
    _lie(
        "health",
        "Health says 503 for as long as a prompt is read.",
        "ModelTC/LightLLM PR 1432",
        health_503_while_busy=True,
    ),
    _lie(
        "health",
        "Health answers, but the gauge's endpoint hangs while a prompt is read.",
        "ggml-org/llama.cpp 27388, 24866",
        slots_hang_in_prefill=True,
    ),
    _lie("health", "Health answers, but the metrics fail while a prompt is read.", metrics_fail_in_prefill=True),
)

_TRUTH = (
    _lie(
        "truth",
        "Health says ok, the engine behind it is dead, and a request waits for ever.",
        "vllm-project/vllm 39863, 16259; sgl-project/sglang 6624",
        dead=True,
    ),
    _lie("truth", "Health says ok, and every answer is empty.", answers_empty=True),
    _lie(
        "truth",
        "Health says ok, and every request is answered with an error.",
        "azrtydxb/Fastllm-proxy 19",
        answers_errors=True,
    ),
)

_FUNCTION = (
    _lie("function", 'Numbers arrive as strings: "2" for 2.', "ollama/ollama 7860", arguments_as_strings=True),
    _lie(
        "function",
        "Arguments arrive as an object, not as JSON text.",
        "ggml-org/llama.cpp 20198",
        arguments_as_object=True,
    ),
    _lie("function", "Arguments are encoded twice.", arguments_encoded_twice=True),
    _lie(
        "function",
        "Arguments are cut at the end of a stream, and whole in a plain answer.",
        "vllm-project/vllm 48702",
        arguments_cut=True,
    ),
    _lie(
        "function", "The tool call is dropped; its text arrives as content.", "mlx-lm PR 1417", tool_call_dropped=True
    ),
    _lie("function", "One call arrives twice.", tool_call_doubled=True),
    _lie("function", "A tool call ends with finish_reason stop.", "vllm tool_calls_utils", tool_finish_stop=True),
    _lie(
        "function", "Streams get each other's numbers.", "model-serving-minefield trap 91", tool_operands_swapped=True
    ),
    _lie("function", "A tool call has no id to answer to.", tool_id_missing=True),
)

_FINISH = (
    _lie("finish", "A cut answer ends with finish_reason stop.", finish_wrong=True),
    _lie("finish", "An answer that ended by itself says length.", finish_always_length=True),
    _lie("finish", "The finish reason is null.", "abetlen/llama-cpp-python 735", finish_null=True),
    _lie("finish", "No chunk carries a finish reason.", "vllm-project/vllm 52852", finish_missing=True),
    _lie("finish", "The finish reason is an empty text.", "ollama/ollama 4357", finish_empty=True),
    _lie("finish", "Usage counts nearly twice what arrived.", "anchors/probes.md 1.5 (2N-1)", usage_wrong=True),
    _lie("finish", "Usage was asked for and does not come.", "abetlen/llama-cpp-python 1640", usage_missing=True),
    _lie("finish", "The stream ends without [DONE].", "vllm-project/vllm 27572", done_missing=True),
    _lie(
        "finish",
        "An error in the stream, under status 200, without [DONE].",
        "llama.cpp and TabbyAPI error events",
        error_without_done=True,
    ),
    _lie("finish", "Every fourth token is counted but never sent.", "vllm-project/vllm 49316", tokens_lost=True),
)

_CONTEXT = (
    _lie(
        "truncation",
        "The oldest part of a long prompt is dropped in silence.",
        "ollama/ollama 3839",
        name="truncation-at-head",
        drop_head_over=1200,
    ),
    _lie(
        "truncation",
        "The middle is dropped, and usage still counts all of it.",
        "ollama llama_server.go num_keep",
        name="truncation-in-the-middle",
        drop_middle_over=1200,
        usage_hides_drop=True,
    ),
    _lie("truncation", "The end of a long prompt is dropped.", name="truncation-at-tail", drop_tail_over=1200),
    _lie(
        "needle",
        "The oldest part is dropped, and usage still counts all of it.",
        "ollama/ollama 3839",
        name="needle-in-dropped-head",
        drop_head_over=1200,
        usage_hides_drop=True,
    ),
    _lie(
        "needle",
        "Every prompt lands on exactly the same length.",
        "ralphgrewe/TradingAgents 168; NousResearch/hermes-agent 43900",
        name="needle-with-fixed-window",
        drop_middle_over=1024,
    ),
    _lie(
        "needle",
        "What an earlier prompt said is remembered and told to the next.",
        "sgl-project/sglang 4593; LMCache/LMCache 4385",
        previous_prompt_leaks=True,
    ),
    _lie(
        "windows",
        "Four windows are claimed over a pool of one: the prompts are served one after the other.",
        "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks 122; llama.cpp unified KV",
        one_pool_waits=True,
    ),
    _lie(
        "windows",
        "Four windows are claimed over a pool of one: what does not fit is forgotten.",
        one_pool_evicts=True,
    ),
)

_CROSSTALK = (
    _lie(
        "crosstalk",
        "Now and then a stream gets a neighbour's tokens.",
        "vllm-project/vllm-ascend 14118; waybarrios/vllm-mlx 384",
        crosstalk=True,
    ),
    _lie(
        "crosstalk",
        "After a cancel the next request reads what the cancelled one left in the slot.",
        crosstalk_after_cancel=True,
    ),
)

_LIFE = (
    _lie(
        "memory",
        "Device memory grows with every request and never comes back.",
        "gpustack/gpustack 2595",
        memory_leaks=True,
    ),
    _lie(
        "memory",
        "A cancelled request's memory stays.",
        "Blackwellboy/model-serving-minefield PR 53",
        memory_kept_after_cancel=True,
    ),
    _lie("soak", "Each request makes the next a little slower.", slows_down=True),
    _lie("soak", "The engine dies after some requests.", name="dies-after-a-while", dies_after=20),
)

LIES: tuple[Lie, ...] = (
    *_OVERLAP,
    *_CANCEL,
    *_HEALTH,
    *_TRUTH,
    *_FUNCTION,
    *_FINISH,
    *_CONTEXT,
    *_CROSSTALK,
    *_LIFE,
)
