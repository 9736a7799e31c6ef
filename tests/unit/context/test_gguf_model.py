"""From GGUF metadata to layers, for each family's way of saying it."""

from __future__ import annotations

from typing import Any

import pytest

from stager.context.architecture import Architecture
from stager.context.fit import MIB, Stored, bytes_per_token, state_bytes
from stager.context.formats import find_format
from stager.context.gguf_model import architecture
from stager.errors import InvalidFile

FP16 = Stored.both(find_format("fp16"))


def model(arch: str, **keys: Any) -> Architecture:
    common = {
        "block_count": 8,
        "context_length": 4096,
        "embedding_length": 512,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
    }
    named = {key.replace("__", "."): value for key, value in keys.items()}
    merged = {f"{arch}.{key}": value for key, value in {**common, **named}.items() if value is not None}
    return architecture({"general.architecture": arch, **merged}, source="m.gguf")


def kinds(built: Architecture) -> list[str]:
    return [("draft " if layer.draft else "") + layer.kind for layer in built.layers]


def test_grouped_queries() -> None:
    """Heads and the embedding give the width where no key length is named."""
    assert bytes_per_token(model("llama"), FP16) == 8 * 2 * (64 + 64) * 2


def test_without_kv_heads_every_head_has_its_own() -> None:
    """A model without grouped queries keeps keys for each query head."""
    assert bytes_per_token(model("llama", attention__head_count_kv=None), FP16) == 8 * 8 * 128 * 2


def test_the_notes_hybrid() -> None:
    """A Qwen 3.5 header of the notes' size gives 16 of 64 layers and 149.625 MiB of state."""
    built = model(
        "qwen35",
        block_count=64,
        context_length=262_144,
        attention__head_count_kv=4,
        attention__key_length=256,
        attention__value_length=256,
        full_attention_interval=4,
        ssm__conv_kernel=4,
        ssm__inner_size=48 * 128,
        ssm__state_size=128,
        ssm__group_count=16,
        ssm__time_step_rank=48,
    )

    assert built.kv_layers == 16
    assert bytes_per_token(built, FP16) == 65_536
    assert state_bytes(built) / MIB == 149.625


SSM = {"ssm__conv_kernel": 4, "ssm__inner_size": 1024, "ssm__state_size": 16, "ssm__group_count": 1}


def test_the_interval_has_a_default() -> None:
    """Where a Qwen 3.5 header has no interval, every fourth layer attends."""
    assert kinds(model("qwen35", **SSM)) == (["recurrent"] * 3 + ["full"]) * 2


def test_a_list_of_recurrent_layers_wins() -> None:
    """A list in the header outranks the interval."""
    listed = [True, False] * 4

    assert kinds(model("qwen35", attention__recurrent_layers=listed, **SSM)) == ["recurrent", "full"] * 4


def test_draft_layers_are_dense_and_apart() -> None:
    """The layers behind the main stack attend fully, and are not counted unless drafting is on."""
    built = model("qwen35", block_count=9, nextn_predict_layers=1, **SSM)

    assert kinds(built) == (["recurrent"] * 3 + ["full"]) * 2 + ["draft full"]
    assert built.kv_layers == 2
    assert "draft" in built.notes[0]


def test_layers_without_kv_heads_are_recurrent() -> None:
    """Jamba and Granite say it with an array of KV heads."""
    built = model("jamba", attention__head_count_kv=[0, 0, 0, 2, 0, 0, 0, 2], **SSM)

    assert kinds(built) == (["recurrent"] * 3 + ["full"]) * 2


def test_an_array_is_read_layer_by_layer() -> None:
    """Differing KV heads are summed, not the first taken for all."""
    built = model("llama", attention__head_count_kv=[1, 2, 3, 4, 1, 2, 3, 4])

    assert bytes_per_token(built, FP16) == 20 * 128 * 2


def test_plain_feed_forward_layers_keep_nothing() -> None:
    """Nemotron-H has layers that neither attend nor keep a state."""
    built = model(
        "nemotron_h",
        attention__head_count_kv=[0, 0, 2, 0, 0, 0, 2, 0],
        feed_forward_length=[0, 9, 0, 9, 0, 9, 0, 9],
        **SSM,
    )

    assert kinds(built) == ["recurrent", "stateless", "full", "stateless"] * 2


def test_attention_and_state_in_one_layer() -> None:
    """Falcon-H1's layers keep both."""
    built = model("falcon-h1", **SSM)

    assert built.kv_layers == 8
    assert all(layer.state for layer in built.layers)


@pytest.mark.parametrize(
    ("arch", "pattern", "expected"),
    [
        ("gemma3", None, ["sliding"] * 5 + ["full"] + ["sliding"] * 2),
        ("gpt-oss", None, ["sliding", "full"] * 4),
        ("cohere2", 2, ["sliding", "full"] * 4),
        ("gemma4", [True, True, False, True], ["sliding", "sliding", "full", "sliding"] * 2),
        ("gemma3", 0, ["sliding"] * 8),
        ("gemma3", 1, ["full"] * 8),
        ("phi3", None, ["full"] * 8),
    ],
)
def test_which_layers_slide(arch: str, pattern: Any, expected: list[str]) -> None:
    """A list, a period, or the family's habit says which layers slide."""
    built = model(arch, attention__sliding_window=512, attention__sliding_window_pattern=pattern)

    assert kinds(built) == expected


def test_an_unknown_pattern_is_an_upper_bound_and_said() -> None:
    """Where nothing says which layers slide, none is counted as sliding, and a note tells."""
    built = model("newmodel", attention__sliding_window=512)

    assert kinds(built) == ["full"] * 8
    assert "upper bound" in built.notes[0]


def test_sliding_layers_may_have_their_own_width() -> None:
    """Gemma 4's sliding layers have heads of another size."""
    built = model(
        "gemma4",
        attention__sliding_window=512,
        attention__sliding_window_pattern=[True, False],
        attention__key_length=512,
        attention__value_length=512,
        attention__key_length_swa=256,
        attention__value_length_swa=256,
    )

    assert [layer.key_width for layer in built.layers[:2]] == [512, 1024]


def test_shared_layers() -> None:
    """The last layers of a model that shares its cache keep nothing."""
    built = model("gemma4", attention__shared_kv_layers=3)

    assert kinds(built) == ["full"] * 5 + ["shared"] * 3


MLA = {
    "attention__head_count_kv": 1,
    "attention__kv_lora_rank": 512,
    "rope__dimension_count": 64,
    "attention__key_length": 576,
    "attention__value_length": 512,
}


def test_latent_attention() -> None:
    """A latent model keeps rank and rotated values once per token and layer."""
    built = model("deepseek2", attention__key_length_mla=192, attention__value_length_mla=128, **MLA)

    assert kinds(built) == ["latent"] * 8
    assert bytes_per_token(built, FP16) == 8 * 576 * 2


def test_latent_attention_converted_before_it_was_known() -> None:
    """An old conversion keeps keys and values whole, and a note tells."""
    old = {**MLA, "attention__head_count_kv": 8, "attention__key_length": 192, "attention__value_length": 128}
    built = model("deepseek2", **old)

    assert bytes_per_token(built, FP16) == 8 * 8 * (192 + 128) * 2
    assert "converted before" in built.notes[0]


@pytest.mark.parametrize("key", ["block_count", "context_length"])
def test_a_missing_key_is_named(key: str) -> None:
    """Without a needed key the answer is its name, not a guess."""
    with pytest.raises(InvalidFile, match=rf"m\.gguf: llama\.{key} is missing"):
        model("llama", **{key: None})


def test_an_array_too_short_is_refused() -> None:
    """A list with fewer entries than layers is not stretched."""
    with pytest.raises(InvalidFile, match="has 3 entries for 8 layers"):
        model("llama", attention__head_count_kv=[1, 2, 3])


def test_a_header_without_architecture_is_refused() -> None:
    """A header that does not name its architecture cannot be read."""
    with pytest.raises(InvalidFile, match=r"general\.architecture"):
        architecture({}, source="m.gguf")
