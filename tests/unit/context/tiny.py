"""Small models with random weights that llama.cpp really loads: sliding window, two hybrids, latent attention.

Their answers are noise; what they are for is the allocation log of the engine's own loader. The vocabulary is copied
from a real model's file, since the loader insists on one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy

from tests.unit.context.headers import add, close

EMBED, FEED, HEADS, KV_HEADS, HEAD = 64, 128, 2, 1, 32
_COMMON: dict[str, Any] = {
    "context_length": 8192,
    "embedding_length": EMBED,
    "feed_forward_length": FEED,
    "attention.head_count": HEADS,
    "attention.layer_norm_rms_epsilon": 1e-6,
    "rope.freq_base": 1e6,
}
_GQA: dict[str, Any] = {
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
}


class _Model:
    def __init__(
        self, path: Path, arch: str, keys: dict[str, Any], vocabulary: Path, norm: str = "output_norm"
    ) -> None:
        self._writer = gguf.GGUFWriter(path, arch)
        self._random = numpy.random.default_rng(1)
        tokens = 0
        for name, field in gguf.GGUFReader(vocabulary).fields.items():
            if name.startswith("tokenizer.ggml."):
                add(self._writer, name, field.contents())
                tokens = len(field.data) if name == "tokenizer.ggml.tokens" else tokens
        for key, value in {**_COMMON, **keys, "vocab_size": tokens}.items():
            add(self._writer, f"{arch}.{key}", value)
        self.tensor("token_embd", EMBED, tokens)
        self.tensor(norm, EMBED)

    def tensor(self, name: str, *sizes: int, suffix: str = ".weight") -> None:
        """Add random values; sizes in ggml's order (fastest first)."""
        values = self._random.standard_normal(tuple(reversed(sizes))) * 0.05
        self._writer.add_tensor(name + suffix, values.astype(numpy.float32))

    def each(self, layer: int, **tensors: tuple[int, ...]) -> None:
        for name, sizes in tensors.items():
            self.tensor(f"blk.{layer}.{name}", *sizes)

    def feed_forward(self, layer: int) -> None:
        self.each(layer, ffn_gate=(EMBED, FEED), ffn_up=(EMBED, FEED), ffn_down=(FEED, EMBED))

    def attention(self, layer: int, *, query: int = HEADS * HEAD) -> None:
        self.each(layer, attn_q=(EMBED, query), attn_k=(EMBED, KV_HEADS * HEAD), attn_v=(EMBED, KV_HEADS * HEAD))
        self.each(layer, attn_output=(HEADS * HEAD, EMBED), attn_q_norm=(HEAD,), attn_k_norm=(HEAD,))

    def close(self) -> None:
        close(self._writer)


def sliding(path: Path, vocabulary: Path) -> None:
    """Gemma 3: seven layers, of which the sixth attends fully and the others over 512 tokens."""
    model = _Model(path, "gemma3", {**_GQA, "block_count": 7, "attention.sliding_window": 512}, vocabulary)
    for layer in range(7):
        model.each(layer, attn_norm=(EMBED,), post_attention_norm=(EMBED,), ffn_norm=(EMBED,), post_ffw_norm=(EMBED,))
        model.attention(layer)
        model.feed_forward(layer)
    model.close()


def short_conv(path: Path, vocabulary: Path) -> None:
    """LFM2: four layers, of which the third attends; the others keep a short convolution."""
    heads = [0, 0, KV_HEADS, 0]
    keys = {"block_count": 4, "attention.head_count_kv": heads, "shortconv.l_cache": 3}
    model = _Model(path, "lfm2", keys, vocabulary, norm="token_embd_norm")
    for layer, attends in enumerate(heads):
        model.each(layer, attn_norm=(EMBED,), ffn_norm=(EMBED,))
        model.feed_forward(layer)
        if attends:
            model.attention(layer)
        else:
            model.tensor(f"blk.{layer}.shortconv.conv", 3, EMBED)
            model.tensor(f"blk.{layer}.shortconv.in_proj", EMBED, 3 * EMBED)
            model.tensor(f"blk.{layer}.shortconv.out_proj", EMBED, EMBED)
    model.close()


def gated_delta(path: Path, vocabulary: Path, *, drafts: int = 0) -> None:
    """Qwen 3.5: of four layers the fourth attends; the others are gated delta nets; then draft layers."""
    key, value, dim, conv = 4, 8, 64, 4
    keys = {
        **_GQA,
        "block_count": 4 + drafts,
        "nextn_predict_layers": drafts,
        "full_attention_interval": 4,
        "rope.dimension_count": 32,
        "rope.dimension_sections": [4, 6, 6, 0],
        "ssm.conv_kernel": conv,
        "ssm.inner_size": value * dim,
        "ssm.state_size": dim,
        "ssm.time_step_rank": value,
        "ssm.group_count": key,
    }
    model = _Model(path, "qwen35", keys, vocabulary)
    for layer in range(4 + drafts):
        model.each(layer, attn_norm=(EMBED,), post_attention_norm=(EMBED,))
        model.feed_forward(layer)
        if layer >= 3:
            model.attention(layer, query=2 * HEADS * HEAD)
            if layer > 3:
                model.tensor(f"blk.{layer}.nextn.eh_proj", 2 * EMBED, EMBED)
                for norm in ("enorm", "hnorm", "shared_head_norm"):
                    model.tensor(f"blk.{layer}.nextn.{norm}", EMBED)
            continue
        mixed = (2 * key + value) * dim
        model.each(layer, attn_qkv=(EMBED, mixed), attn_gate=(EMBED, value * dim), ssm_conv1d=(conv, mixed))
        model.each(layer, ssm_beta=(EMBED, value), ssm_alpha=(EMBED, value), ssm_norm=(dim,))
        model.each(layer, ssm_out=(value * dim, EMBED))
        model.tensor(f"blk.{layer}.ssm_dt", value, suffix=".bias")
        model.tensor(f"blk.{layer}.ssm_a", value, suffix="")
    model.close()


def latent(path: Path, vocabulary: Path) -> None:
    """DeepSeek 2: three layers of latent attention, rank 32 and 16 rotated values."""
    rank, rope, plain, query_rank = 32, 16, 32, 48
    keys = {
        "block_count": 3,
        "attention.head_count_kv": 1,
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "attention.key_length_mla": plain + rope,
        "attention.value_length_mla": HEAD,
        "attention.kv_lora_rank": rank,
        "attention.q_lora_rank": query_rank,
        "rope.dimension_count": rope,
        "leading_dense_block_count": 3,
        "expert_count": 2,
        "expert_used_count": 1,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 32,
        "expert_weights_scale": 1.0,
        "expert_gating_func": 1,
    }
    model = _Model(path, "deepseek2", keys, vocabulary)
    for layer in range(3):
        model.each(layer, attn_norm=(EMBED,), ffn_norm=(EMBED,), attn_kv_a_norm=(rank,), attn_q_a_norm=(query_rank,))
        model.feed_forward(layer)
        model.each(layer, attn_q_a=(EMBED, query_rank), attn_q_b=(query_rank, HEADS * (plain + rope)))
        model.each(layer, attn_kv_a_mqa=(EMBED, rank + rope), attn_k_b=(plain, rank, HEADS))
        model.each(layer, attn_v_b=(rank, HEAD, HEADS), attn_output=(HEADS * HEAD, EMBED))
    model.close()
