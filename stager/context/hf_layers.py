"""Which layer is of which kind in a Hugging Face configuration: by list, by interval, or by the model's habit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stager.context.architecture import Kind

_WORDS = {
    "full_attention": Kind.FULL,
    "attention": Kind.FULL,
    "global_attention": Kind.FULL,
    "sliding_attention": Kind.SLIDING,
    "chunked_attention": Kind.SLIDING,
    "linear_attention": Kind.RECURRENT,
    "mamba": Kind.RECURRENT,
    "conv": Kind.RECURRENT,
    "recurrent": Kind.RECURRENT,
    "mlp": Kind.STATELESS,
    "moe": Kind.STATELESS,
    # Nemotron-H writes one letter per layer
    "M": Kind.RECURRENT,
    "*": Kind.FULL,
    "-": Kind.STATELESS,
    "E": Kind.STATELESS,
}
#: Period of the sliding pattern where neither a list nor a number is given: every n-th layer attends fully.
_PERIODS = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "gemma3n_text": 5, "cohere2": 4}
_LINEAR_INTERVAL = {"qwen3_next": 4, "qwen3_5_text": 4, "qwen3_5_moe_text": 4}


def layer_kinds(config: Mapping[str, Any], count: int, notes: list[str]) -> list[Kind]:
    """Return the kind of each of the ``count`` layers; what is not known counts as full attention and is noted."""
    listed = config.get("layer_types") or config.get("layers_block_type") or config.get("hybrid_override_pattern")
    if listed:
        return _listed(list(listed), count, notes)
    model = str(config.get("model_type", ""))
    if linear := config.get("linear_attn_config"):  # Kimi Linear: layer numbers from 1
        attending = {int(item) for item in linear.get("full_attn_layers", ())}
        return [Kind.FULL if index + 1 in attending else Kind.RECURRENT for index in range(count)]
    if interval := int(config.get("full_attention_interval") or _LINEAR_INTERVAL.get(model, 0)):
        return _every(interval, count, Kind.RECURRENT)
    if period := int(config.get("attn_layer_period") or 0):  # Jamba
        offset = int(config.get("attn_layer_offset") or 0)
        return [Kind.FULL if index % period == offset else Kind.RECURRENT for index in range(count)]
    return _sliding(config, model, count)


def _sliding(config: Mapping[str, Any], model: str, count: int) -> list[Kind]:
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return [Kind.FULL] * count
    if period := int(config.get("sliding_window_pattern") or _PERIODS.get(model, 0)):
        return _every(period, count, Kind.SLIDING)
    first = int(config.get("max_window_layers") or 0)  # Qwen2: the first layers attend fully
    return [Kind.FULL if index < first else Kind.SLIDING for index in range(count)]


def _every(interval: int, count: int, between: Kind) -> list[Kind]:
    return [between if (index + 1) % interval else Kind.FULL for index in range(count)]


def _listed(words: list[Any], count: int, notes: list[str]) -> list[Kind]:
    if len(words) != count:
        raise ValueError(f"the list of layer types has {len(words)} entries for {count} layers")
    unknown = sorted({str(word) for word in words} - set(_WORDS))
    if unknown:
        notes.append(f"Unknown layer type(s) {', '.join(unknown)} are counted as full attention: an upper bound.")
    return [_WORDS.get(str(word), Kind.FULL) for word in words]
