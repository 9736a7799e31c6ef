"""From config.json to layers, for each family's way of saying it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stager.context.architecture import Architecture
from stager.context.fit import MIB, Stored, bytes_per_token, state_bytes
from stager.context.formats import find_format
from stager.context.hf import architecture, parse
from stager.errors import InvalidFile

FP16 = Stored.both(find_format("fp16"))
COMMON = {
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 512,
    "max_position_embeddings": 4096,
}


def model(**keys: Any) -> Architecture:
    return architecture({**COMMON, **keys}, source="config.json")


def kinds(built: Architecture) -> list[str]:
    return [("draft " if layer.draft else "") + layer.kind for layer in built.layers]


def test_grouped_queries() -> None:
    """The width of a head follows from the hidden size where it is not named."""
    assert bytes_per_token(model(), FP16) == 8 * 2 * 128 * 2


NOTES = {
    "num_hidden_layers": 64,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "hidden_size": 5120,
    "max_position_embeddings": 262_144,
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 48,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}


@pytest.mark.parametrize(
    "document",
    [
        NOTES,
        {"model_type": "qwen3_5", "max_position_embeddings": 1, "text_config": NOTES},
        {
            **NOTES,
            "full_attention_interval": None,
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        },
    ],
    ids=["flat", "text_config", "list"],
)
def test_the_notes_model(document: dict[str, Any]) -> None:
    """The notes' model gives the same sixteen layers, flat, nested, or by a list."""
    built = architecture(document, source="config.json")

    assert (built.kv_layers, built.window) == (16, 262_144)
    assert bytes_per_token(built, FP16) == 65_536
    assert state_bytes(built) / MIB == 149.625


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"sliding_window": 512, "model_type": "mistral"}, ["sliding"] * 8),
        ({"sliding_window": 512, "model_type": "gemma3_text"}, ["sliding"] * 5 + ["full"] + ["sliding"] * 2),
        ({"sliding_window": 512, "sliding_window_pattern": 2}, ["sliding", "full"] * 4),
        ({"sliding_window": 512, "use_sliding_window": False}, ["full"] * 8),
        ({"sliding_window": 512, "use_sliding_window": True, "max_window_layers": 6}, ["full"] * 6 + ["sliding"] * 2),
        ({"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"] * 4}, ["sliding", "full"] * 4),
        ({"sliding_window": None}, ["full"] * 8),
        (
            {"attention_chunk_size": 512, "layer_types": ["chunked_attention", "full_attention"] * 4},
            ["sliding", "full"] * 4,
        ),
    ],
)
def test_which_layers_slide(keys: dict[str, Any], expected: list[str]) -> None:
    """A list, a period, a switch, or the family's habit says which layers slide."""
    assert kinds(model(**keys)) == expected


JAMBA = {"mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4}


@pytest.mark.parametrize(
    ("keys", "attending", "state"),
    [
        ({"attn_layer_period": 8, "attn_layer_offset": 4, **JAMBA}, [4], 3 * 1024 + 16 * 1024),
        (
            {"layer_types": ["mamba", "mamba", "mamba", "attention"] * 2, "mamba_n_groups": 1, **JAMBA},
            [3, 7],
            3 * (1024 + 2 * 16) + 16 * 1024,
        ),
        ({"layer_types": ["conv", "full_attention"] * 4, "conv_L_cache": 3}, [1, 3, 5, 7], 2 * 512),
        (
            {
                "hybrid_override_pattern": "M-M*M-M*",
                "mamba_num_heads": 8,
                "mamba_head_dim": 64,
                "n_groups": 2,
                "ssm_state_size": 16,
                "conv_kernel": 4,
            },
            [3, 7],
            3 * (512 + 2 * 2 * 16) + 16 * 512,
        ),
        (
            {
                "linear_attn_config": {
                    "full_attn_layers": [4, 8],
                    "num_heads": 4,
                    "head_dim": 32,
                    "short_conv_kernel_size": 4,
                }
            },
            [3, 7],
            3 * 3 * 4 * 32 + 4 * 32 * 32,
        ),
    ],
    ids=["jamba", "granite", "lfm2", "nemotron-h", "kimi-linear"],
)
def test_hybrids(keys: dict[str, Any], attending: list[int], state: int) -> None:
    """Each family's layers are told apart, and a recurrent one keeps what its family keeps."""
    built = model(**keys)

    assert [index for index, kind in enumerate(kinds(built)) if kind == "full"] == attending
    assert built.layers[0].state == state


def test_a_state_not_known_is_said() -> None:
    """A recurrent layer with sizes under unknown names counts nothing, and a note tells."""
    built = model(layer_types=["recurrent", "full_attention"] * 4)

    assert state_bytes(built) == 0
    assert "not counted" in built.notes[0]


def test_an_unknown_layer_type_is_an_upper_bound_and_said() -> None:
    """A layer type nobody told us about counts as full attention, and a note names it."""
    built = model(layer_types=["telepathy"] * 8)

    assert built.kv_layers == 8
    assert "telepathy" in built.notes[0]


def test_latent_attention() -> None:
    """DeepSeek V3 keeps 70,272 bytes per token."""
    built = model(num_hidden_layers=61, kv_lora_rank=512, qk_rope_head_dim=64, v_head_dim=128)

    assert bytes_per_token(built, FP16) == 70_272


def test_draft_layers() -> None:
    """Multi-token-prediction layers come on top and are not counted."""
    built = model(num_nextn_predict_layers=1)

    assert kinds(built) == ["full"] * 8 + ["draft full"]
    assert built.kv_layers == 8


def test_shared_layers() -> None:
    """The last layers of a model that shares its cache keep nothing."""
    assert kinds(model(num_kv_shared_layers=3)) == ["full"] * 5 + ["shared"] * 3


def test_full_layers_with_their_own_heads() -> None:
    """Gemma 4's full layers have fewer, wider heads."""
    built = model(
        layer_types=["sliding_attention", "full_attention"] * 4,
        sliding_window=512,
        head_dim=256,
        global_head_dim=512,
        num_global_key_value_heads=1,
    )

    assert [layer.key_width for layer in built.layers[:2]] == [512, 512]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"not json", "neither GGUF nor JSON"),
        (b"[1]", "expected an object"),
        (b"{}", "num_hidden_layers or n_layer or num_layers is missing"),
        (json.dumps({**COMMON, "num_attention_heads": "many"}).encode(), "a value is not what it must be"),
        (json.dumps({**COMMON, "layer_types": ["full_attention"]}).encode(), "1 entries for 8 layers"),
        (json.dumps({**COMMON, "num_attention_heads": 0, "num_key_value_heads": None}).encode(), "a value is not"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, words: str) -> None:
    """A file that does not say what is needed is refused with what is wrong."""
    with pytest.raises(InvalidFile, match=words):
        parse(data, source="config.json")
