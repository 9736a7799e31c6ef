"""A model's layers as data: what each of them keeps for every token, or for every sequence.

Readers (``gguf_model``, ``hf``, ``numbers``) produce an ``Architecture``; ``fit`` does arithmetic on it.
Nothing here knows an engine or a file format.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What a layer does to earlier tokens."""

    FULL = "full"  # keeps keys and values of every token
    SLIDING = "sliding"  # keeps those of the last ``span`` tokens
    LATENT = "latent"  # keeps one compressed row per token (MLA)
    RECURRENT = "recurrent"  # keeps a state of fixed size per sequence
    SHARED = "shared"  # reads another layer's cache, keeps nothing
    STATELESS = "stateless"  # keeps nothing (feed-forward only)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. Widths are values per token (key and value heads together), states are values per sequence.

    ``draft`` marks a multi-token-prediction layer behind the main stack: it holds a cache only where drafting is on.
    """

    kind: Kind
    key_width: int = 0
    value_width: int = 0
    span: int = 0
    conv_state: int = 0
    recurrent_state: int = 0
    draft: bool = False

    @property
    def keeps_tokens(self) -> bool:
        """Whether the layer's memory depends on the number of tokens."""
        return self.kind in (Kind.FULL, Kind.SLIDING, Kind.LATENT)

    @property
    def state(self) -> int:
        """Values kept per sequence."""
        return self.conv_state + self.recurrent_state


def full(kv_heads: int, key_dim: int, value_dim: int | None = None) -> Layer:
    """Full attention with grouped queries: ``kv_heads`` heads of ``key_dim`` (and ``value_dim``) values per token."""
    return Layer(Kind.FULL, kv_heads * key_dim, kv_heads * (key_dim if value_dim is None else value_dim))


def sliding(kv_heads: int, key_dim: int, value_dim: int | None = None, *, span: int) -> Layer:
    """Attention over the last ``span`` tokens only."""
    return replace(full(kv_heads, key_dim, value_dim), kind=Kind.SLIDING, span=span)


def latent(rank: int, rope_dim: int) -> Layer:
    """Multi-head latent attention: one row of ``rank + rope_dim`` values per token, no values of its own."""
    return Layer(Kind.LATENT, rank + rope_dim)


def gated_delta(*, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv: int) -> Layer:
    """A linear-attention layer (gated delta net): a convolution window and a matrix per value head.

    Values per sequence: ``(conv - 1) * (2 * key_heads * key_dim + value_heads * value_dim)`` and
    ``value_heads * key_dim * value_dim`` (llama.cpp ``hparams.n_embd_r`` and ``n_embd_s``).
    """
    channels = 2 * key_heads * key_dim + value_heads * value_dim
    return Layer(
        Kind.RECURRENT, conv_state=max(conv - 1, 0) * channels, recurrent_state=value_heads * key_dim * value_dim
    )


def state_space(*, inner: int, groups: int, state: int, conv: int) -> Layer:
    """A Mamba layer: values per sequence are ``(conv - 1) * (inner + 2 * groups * state)`` and ``state * inner``."""
    return Layer(
        Kind.RECURRENT, conv_state=max(conv - 1, 0) * (inner + 2 * groups * state), recurrent_state=state * inner
    )


def short_conv(width: int, length: int) -> Layer:
    """A short convolution (LFM2): the last ``length - 1`` rows of ``width`` values."""
    return Layer(Kind.RECURRENT, conv_state=max(length - 1, 0) * width)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model as its memory sees it. ``window`` is the native context in tokens; ``notes`` say what was assumed."""

    name: str
    layers: tuple[Layer, ...]
    window: int
    source: str
    notes: tuple[str, ...] = ()

    def counted(self, *, drafting: bool = False) -> tuple[Layer, ...]:
        """The layers that hold memory: without the draft layers unless ``drafting``."""
        return tuple(layer for layer in self.layers if drafting or not layer.draft)

    @property
    def kv_layers(self) -> int:
        """How many layers hold keys and values."""
        return sum(layer.keeps_tokens for layer in self.counted())

    def census(self) -> dict[str, int]:
        """How many layers there are of each kind; draft layers apart."""
        return dict(Counter("draft" if layer.draft else str(layer.kind) for layer in self.layers))
