"""From a Hugging Face ``config.json`` (its ``text_config`` where there is one) to an architecture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stager.context.architecture import Architecture, Kind, Layer, full, latent, sliding
from stager.context.hf_layers import layer_kinds
from stager.context.hf_state import state_layer
from stager.errors import InvalidFile

_TEXT_PARTS = ("text_config", "llm_config", "language_config")


def parse(data: bytes, *, source: str) -> Architecture:
    """Return the layers a ``config.json`` describes.

    Raises:
        InvalidFile: not JSON, or a key without which nothing can be computed is missing.
    """
    try:
        document = json.loads(data)
    except ValueError as error:
        raise InvalidFile(f"{source}: neither GGUF nor JSON: {error}.") from None
    if not isinstance(document, dict):
        raise InvalidFile(f"{source}: expected an object at the top of config.json.")
    return architecture(document, source=source)


def architecture(document: Mapping[str, Any], *, source: str) -> Architecture:
    """Return the layers of an already parsed configuration; raises what `parse` raises."""
    config = _text_part(document)
    notes: list[str] = []
    try:
        layers = _layers(config, notes)
        drafts = int(config.get("num_nextn_predict_layers") or config.get("mtp_num_hidden_layers") or 0)
        window = int(_first(config, "max_position_embeddings", "n_positions", "max_seq_len", "seq_length"))
    except KeyError as error:
        raise InvalidFile(f"{source}: {error.args[0]} is missing; without it the cache cannot be computed.") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidFile(f"{source}: a value is not what it must be: {error}.") from None
    if drafts:
        draft = next((layer for layer in reversed(layers) if layer.keeps_tokens), None)
        layers += [replace(draft, draft=True)] * drafts if draft else []
        notes.append(f"{drafts} draft (MTP) layer(s) are not counted: they hold a cache only where drafting is on.")
    if config.get("index_head_dim"):
        notes.append("The sparse-attention indexer keeps keys of its own beside the cache; they are not counted.")
    name = str(document.get("_name_or_path") or config.get("model_type") or "model")
    return Architecture(name, tuple(layers), window, source, tuple(notes))


def _text_part(document: Mapping[str, Any]) -> dict[str, Any]:
    for part in _TEXT_PARTS:
        inner = document.get(part)
        if isinstance(inner, dict):
            return {**document, **inner}
    return dict(document)


def _first(config: Mapping[str, Any], *names: str) -> Any:  # noqa: ANN401
    for name in names:
        if config.get(name) is not None:
            return config[name]
    raise KeyError(" or ".join(names))


def _layers(config: Mapping[str, Any], notes: list[str]) -> list[Layer]:
    count = int(_first(config, "num_hidden_layers", "n_layer", "num_layers"))
    kinds = layer_kinds(config, count, notes)
    state = state_layer(config, notes) if Kind.RECURRENT in kinds else None
    layers: list[Layer] = []
    for index, kind in enumerate(kinds):
        if kind is Kind.RECURRENT and state is not None:
            layers.append(state)
        elif kind in (Kind.FULL, Kind.SLIDING):
            layers.append(_attention(config, kind, index))
        else:
            layers.append(Layer(kind))
    shared = int(config.get("num_kv_shared_layers") or 0)
    return layers[: count - shared] + [Layer(Kind.SHARED)] * shared


def _attention(config: Mapping[str, Any], kind: Kind, index: int) -> Layer:
    if config.get("kv_lora_rank"):
        return latent(int(config["kv_lora_rank"]), int(_first(config, "qk_rope_head_dim")))
    queries = _at(_first(config, "num_attention_heads", "n_head"), index)
    heads = _at(config.get("num_key_value_heads") or config.get("num_kv_heads") or queries, index)
    key = int(config.get("head_dim") or int(_first(config, "hidden_size", "n_embd")) // queries)
    if kind is Kind.FULL and config.get("global_head_dim"):  # Gemma 4: the full layers have heads of their own
        heads = int(config.get("num_global_key_value_heads") or heads)
        key = int(config["global_head_dim"])
    value = int(config.get("v_head_dim") or key)
    if kind is Kind.SLIDING:
        return sliding(heads, key, value, span=int(config.get("sliding_window") or config["attention_chunk_size"]))
    return full(heads, key, value)


def _at(value: Any, index: int) -> int:  # noqa: ANN401
    return int(value[index] if isinstance(value, list) else value)
