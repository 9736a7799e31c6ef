"""Lies in the form of an answer: tool calls, and how a stream ends."""

from __future__ import annotations

from stager.lab.lie import Lie, one_knob

_FUNCTION = (
    one_knob("function", 'Numbers arrive as strings: "2" for 2.', "ollama/ollama 7860", arguments_as_strings=True),
    one_knob(
        "function",
        "Arguments arrive as an object, not as JSON text.",
        "ggml-org/llama.cpp 20198",
        arguments_as_object=True,
    ),
    one_knob("function", "Arguments are encoded twice.", arguments_encoded_twice=True),
    one_knob(
        "function",
        "Arguments are cut at the end of a stream, and whole in a plain answer.",
        "vllm-project/vllm 48702",
        arguments_cut=True,
    ),
    one_knob(
        "function", "The tool call is dropped; its text arrives as content.", "mlx-lm PR 1417", tool_call_dropped=True
    ),
    one_knob("function", "One call arrives twice.", tool_call_doubled=True),
    one_knob("function", "A tool call ends with finish_reason stop.", "vllm tool_calls_utils", tool_finish_stop=True),
    one_knob(
        "function", "Streams get each other's numbers.", "model-serving-minefield trap 91", tool_operands_swapped=True
    ),
    one_knob("function", "A tool call has no id to answer to.", tool_id_missing=True),
)

_FINISH = (
    one_knob("finish", "A cut answer ends with finish_reason stop.", finish_wrong=True),
    one_knob("finish", "An answer that ended by itself says length.", finish_always_length=True),
    one_knob("finish", "The finish reason is null.", "abetlen/llama-cpp-python 735", finish_null=True),
    one_knob("finish", "No chunk carries a finish reason.", "vllm-project/vllm 52852", finish_missing=True),
    one_knob("finish", "The finish reason is an empty text.", "ollama/ollama 4357", finish_empty=True),
    one_knob("finish", "Usage counts nearly twice what arrived.", "anchors/probes.md 1.5 (2N-1)", usage_wrong=True),
    one_knob("finish", "Usage was asked for and does not come.", "abetlen/llama-cpp-python 1640", usage_missing=True),
    one_knob("finish", "The stream ends without [DONE].", "vllm-project/vllm 27572", done_missing=True),
    one_knob(
        "finish",
        "An error in the stream, under status 200, without [DONE].",
        "llama.cpp and TabbyAPI error events",
        error_without_done=True,
    ),
    one_knob("finish", "Every fourth token is counted but never sent.", "vllm-project/vllm 49316", tokens_lost=True),
)

ANSWERS: tuple[Lie, ...] = (*_FUNCTION, *_FINISH)
