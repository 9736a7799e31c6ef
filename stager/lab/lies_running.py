"""Lies about what runs: overlap, cancelled requests, health, and whether anything lives at all."""

from __future__ import annotations

from stager.lab.knobs import Knobs
from stager.lab.lie import Lie, one_knob

_OVERLAP = (
    one_knob(
        "overlap",
        "A lock around generation: one request at a time, the others wait.",
        "swama 116; abetlen/llama-cpp-python server",
        lock_around_generation=True,
    ),
    one_knob(
        "overlap",
        "All requests get a slot, but a default batch of one advances only the first.",
        "ExLlamaV3 -ambs 1; ollama/ollama 14510",
        batch_default_of_one=True,
    ),
    one_knob(
        "overlap",
        "Time-slicing: the streams interleave perfectly, one sequence a step.",
        "anchors/probes.md 2.4",
        time_slicing=True,
    ),
    one_knob(
        "overlap",
        "Time-slicing, with a step counter that counts whole rounds and so reads four tokens a step.",
        name="time-slicing-counts-rounds",
        time_slicing=True,
        time_slicing_counts_rounds=True,
    ),
    one_knob(
        "overlap",
        "A gauge that counts admissions, over a lock.",
        "vllm scheduler running list",
        name="gauge-counts-admissions",
        lock_around_generation=True,
        gauge_counts_admissions=True,
    ),
    one_knob(
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
    one_knob(
        "cancel",
        "A job goes on after its client left while it was decoding.",
        "ggml-org/llama.cpp 11720, 24496",
        ghost_in_decode=True,
    ),
    one_knob(
        "cancel",
        "A job goes on after its client left while the prompt was read.",
        "ggml-org/llama.cpp 15232; ikawrakow/ik_llama.cpp 1020",
        ghost_in_prefill=True,
    ),
    one_knob(
        "cancel",
        "A job runs although its client left while it was queued.",
        "sgl-project/sglang 31765",
        ghost_in_queue=True,
    ),
    one_knob(
        "cancel",
        "Ghosts keep their slots while the gauge says that all is quiet.",
        "anchors/probes.md 9",
        ghost_behind_true_gauge=True,
    ),
    one_knob(
        "cancel",
        "Every fifth cancel is lost in a race.",
        "sgl-project/sglang 36333, 36876",
        name="ghost-in-a-race",
        ghost_every=5,
    ),
    one_knob(
        "cancel",
        "A job goes on after its client left where the answer was asked for as a whole.",
        "BerriAI/litellm 37140; ROCm/ATOM PR 1562; unslothai/unsloth PR 10096",
        ghost_unless_streamed=True,
    ),
    one_knob(
        "cancel",
        "The gauge never comes down again, though nothing runs: a false ghost.",
        "vllm-project/vllm 22545",
        gauge_stuck_high=True,
    ),
    one_knob(
        "cancel",
        "One client's disconnect ends every stream.",
        "osaurus-ai/osaurus PR 2563; llama-cpp-python interrupt_requests",
        cancel_kills_neighbour=True,
    ),
    one_knob(
        "cancel",
        "One client's disconnect changes what the neighbour is told.",
        cancel_corrupts_neighbour=True,
    ),
    one_knob(
        "cancel",
        "A disconnect brings the engine down, while its server goes on.",
        "openvinotoolkit/model_server 4428",
        cancel_kills_engine=True,
    ),
)

_HEALTH = (
    one_knob(
        "health",
        "Health answers only between prompts: it waits behind the step.",
        "ikawrakow/ik_llama.cpp 1210; huggingface/text-generation-inference 2348",
        health_behind_step=True,
    ),
    one_knob(
        "health",
        "Health says 503 for as long as a prompt is read.",
        "ModelTC/LightLLM PR 1432",
        health_503_while_busy=True,
    ),
    one_knob(
        "health",
        "Health answers, but the gauge's endpoint hangs while a prompt is read.",
        "ggml-org/llama.cpp 27388, 24866",
        slots_hang_in_prefill=True,
    ),
    one_knob("health", "Health answers, but the metrics fail while a prompt is read.", metrics_fail_in_prefill=True),
)

_TRUTH = (
    one_knob(
        "truth",
        "Health says ok, the engine behind it is dead, and a request waits for ever.",
        "vllm-project/vllm 39863, 16259; sgl-project/sglang 6624",
        dead=True,
    ),
    one_knob("truth", "Health says ok, and every answer is empty.", answers_empty=True),
    one_knob(
        "truth",
        "Health says ok, and every request is answered with an error.",
        "azrtydxb/Fastllm-proxy 19",
        answers_errors=True,
    ),
)

RUNNING: tuple[Lie, ...] = (*_OVERLAP, *_CANCEL, *_HEALTH, *_TRUTH)
