"""Lies about what is kept: of a prompt, between streams, and over a long life."""

from __future__ import annotations

from stager.lab.lie import Lie, one_knob

_CONTEXT = (
    one_knob(
        "truncation",
        "The oldest part of a long prompt is dropped in silence.",
        "ollama/ollama 3839",
        name="truncation-at-head",
        drop_head_over=1200,
    ),
    one_knob(
        "truncation",
        "The middle is dropped, and usage still counts all of it.",
        "ollama llama_server.go num_keep",
        name="truncation-in-the-middle",
        drop_middle_over=1200,
        usage_hides_drop=True,
    ),
    one_knob("truncation", "The end of a long prompt is dropped.", name="truncation-at-tail", drop_tail_over=1200),
    one_knob(
        "needle",
        "The oldest part is dropped, and usage still counts all of it.",
        "ollama/ollama 3839",
        name="needle-in-dropped-head",
        drop_head_over=1200,
        usage_hides_drop=True,
    ),
    one_knob(
        "needle",
        "Every prompt lands on exactly the same length.",
        "ralphgrewe/TradingAgents 168; NousResearch/hermes-agent 43900",
        name="needle-with-fixed-window",
        drop_middle_over=1024,
    ),
    one_knob(
        "needle",
        "What an earlier prompt said is remembered and told to the next.",
        "sgl-project/sglang 4593; LMCache/LMCache 4385",
        previous_prompt_leaks=True,
    ),
    one_knob(
        "windows",
        "Four windows are claimed over a pool of one: the prompts are served one after the other.",
        "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks 122; llama.cpp unified KV",
        one_pool_waits=True,
    ),
    one_knob(
        "windows",
        "Four windows are claimed over a pool of one: what does not fit is forgotten.",
        one_pool_evicts=True,
    ),
)

_CROSSTALK = (
    one_knob(
        "crosstalk",
        "Now and then a stream gets a neighbour's tokens.",
        "vllm-project/vllm-ascend 14118; waybarrios/vllm-mlx 384",
        crosstalk=True,
    ),
    one_knob(
        "crosstalk",
        "After a cancel the next request reads what the cancelled one left in the slot.",
        crosstalk_after_cancel=True,
    ),
)

_LIFE = (
    one_knob(
        "memory",
        "Device memory grows with every request and never comes back.",
        "gpustack/gpustack 2595",
        memory_leaks=True,
    ),
    one_knob(
        "memory",
        "A cancelled request's memory stays.",
        "Blackwellboy/model-serving-minefield PR 53",
        memory_kept_after_cancel=True,
    ),
    one_knob("soak", "Each request makes the next a little slower.", slows_down=True),
    one_knob("soak", "The engine dies after some requests.", name="dies-after-a-while", dies_after=20),
)

KEEPING: tuple[Lie, ...] = (*_CONTEXT, *_CROSSTALK, *_LIFE)
