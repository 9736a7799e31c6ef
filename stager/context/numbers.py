"""An architecture from plain numbers, as given on the command line."""

from __future__ import annotations

from dataclasses import dataclass

from stager.context.architecture import Architecture, Layer, full, gated_delta, latent, sliding
from stager.errors import UsageError


@dataclass(frozen=True, slots=True)
class Linear:
    """The linear-attention layers of a hybrid: heads, dimension, and length of the convolution."""

    key_heads: int
    value_heads: int
    dim: int
    conv: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was typed: every ``full_every``-th layer attends fully, the others are linear, or slide by ``span``."""

    layers: int
    kv_heads: int
    head_dim: int
    window: int
    full_every: int = 1
    span: int = 0
    linear: Linear | None = None
    latent_rank: int = 0
    rope_dim: int = 0


def architecture(numbers: Numbers) -> Architecture:
    """Return the layers those numbers describe.

    Raises:
        UsageError: a number that must be positive is not.
    """
    for name, option in (("layers", "layers"), ("window", "window"), ("full_every", "full-attention-every")):
        if getattr(numbers, name) < 1:
            raise UsageError(f"--{option} must be at least 1.")
    if not numbers.latent_rank and (numbers.kv_heads < 1 or numbers.head_dim < 1):
        raise UsageError("Plain numbers need --kv-heads and --head-dim (or --kv-lora-rank and --rope-dim).")
    attends = _attending(numbers)
    between, note = _between(numbers)
    every = numbers.full_every
    layers = tuple(attends if (index + 1) % every == 0 else between for index in range(numbers.layers))
    return Architecture("numbers", layers, numbers.window, "command line", (note,) if note and every > 1 else ())


def _attending(numbers: Numbers) -> Layer:
    if numbers.latent_rank:
        return latent(numbers.latent_rank, numbers.rope_dim)
    return full(numbers.kv_heads, numbers.head_dim)


def _between(numbers: Numbers) -> tuple[Layer, str]:
    if numbers.span:
        return sliding(numbers.kv_heads, numbers.head_dim, span=numbers.span), ""
    if numbers.linear is None:
        return (
            gated_delta(key_heads=0, value_heads=0, key_dim=0, value_dim=0, conv=1),
            "The linear layers' own sizes were not given: their recurrent state is not counted.",
        )
    linear = numbers.linear
    return (
        gated_delta(
            key_heads=linear.key_heads,
            value_heads=linear.value_heads,
            key_dim=linear.dim,
            value_dim=linear.dim,
            conv=linear.conv,
        ),
        "",
    )
