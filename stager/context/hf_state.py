"""The fixed state of a recurrent layer, from the names the model families use in ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stager.context.architecture import Kind, Layer, gated_delta, short_conv, state_space


def state_layer(config: Mapping[str, Any], notes: list[str]) -> Layer:
    """Return a recurrent layer; where its sizes are not known it counts nothing, and a note says so.

    Raises:
        KeyError: a size of a known family is missing.
    """
    if "linear_num_value_heads" in config:  # Qwen3-Next, Qwen3.5
        return gated_delta(
            key_heads=int(config["linear_num_key_heads"]),
            value_heads=int(config["linear_num_value_heads"]),
            key_dim=int(config["linear_key_head_dim"]),
            value_dim=int(config["linear_value_head_dim"]),
            conv=int(config["linear_conv_kernel_dim"]),
        )
    if "linear_attn_config" in config:  # Kimi Linear
        linear = config["linear_attn_config"]
        heads, dim = int(linear["num_heads"]), int(linear["head_dim"])
        return gated_delta(
            key_heads=heads, value_heads=heads, key_dim=dim, value_dim=dim, conv=int(linear["short_conv_kernel_size"])
        )
    if "conv_L_cache" in config:  # LFM2
        return short_conv(int(config["hidden_size"]), int(config["conv_L_cache"]))
    if "mamba_num_heads" in config:  # Nemotron-H
        return state_space(
            inner=int(config["mamba_num_heads"]) * int(config["mamba_head_dim"]),
            groups=int(config["n_groups"]),
            state=int(config["ssm_state_size"]),
            conv=int(config["conv_kernel"]),
        )
    if "mamba_d_state" in config:  # Jamba (one channel group less), Bamba, Granite 4, Falcon-H1
        inner = int(config["mamba_expand"]) * int(config["hidden_size"])
        return state_space(
            inner=inner,
            groups=int(config.get("mamba_n_groups") or 0),
            state=int(config["mamba_d_state"]),
            conv=int(config["mamba_d_conv"]),
        )
    notes.append("The recurrent layers' sizes are not named in a way known here: their state is not counted.")
    return Layer(Kind.RECURRENT)
