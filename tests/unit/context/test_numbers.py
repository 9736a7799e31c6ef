"""An architecture from plain numbers."""

from __future__ import annotations

import pytest

from stager.context.fit import MIB, state_bytes
from stager.context.numbers import Linear, Numbers, architecture
from stager.errors import UsageError


def test_every_fourth_layer_attends() -> None:
    """The interval leaves every fourth layer, counted from the fourth."""
    built = architecture(Numbers(8, 4, 256, 4096, full_every=4))

    assert [str(layer.kind) for layer in built.layers] == (["recurrent"] * 3 + ["full"]) * 2


def test_unknown_linear_sizes_are_said() -> None:
    """Without the linear layers' sizes their state is not counted, and a note tells."""
    built = architecture(Numbers(8, 4, 256, 4096, full_every=4))

    assert state_bytes(built) == 0
    assert "not counted" in built.notes[0]


def test_the_notes_state() -> None:
    """With the notes' sizes the state is 149.625 MiB."""
    built = architecture(Numbers(64, 4, 256, 262_144, full_every=4, linear=Linear(16, 48, 128, 4)))

    assert state_bytes(built) / MIB == 149.625
    assert built.notes == ()


def test_a_span_makes_the_others_slide() -> None:
    """With a span the layers between slide instead of being linear."""
    built = architecture(Numbers(6, 1, 256, 4096, full_every=6, span=512))

    assert built.census() == {"sliding": 5, "full": 1}


def test_latent_numbers_need_no_heads() -> None:
    """Rank and rotated values are enough for latent attention."""
    assert architecture(Numbers(61, 0, 0, 4096, latent_rank=512, rope_dim=64)).layers[0].key_width == 576


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (Numbers(0, 1, 1, 1), "--layers"),
        (Numbers(1, 1, 1, 0), "--window"),
        (Numbers(1, 1, 1, 1, full_every=0), "--full-attention-every"),
        (Numbers(1, 0, 1, 1), "--kv-heads and --head-dim"),
    ],
)
def test_impossible_numbers(numbers: Numbers, words: str) -> None:
    """A number that makes no model is refused by the option's name."""
    with pytest.raises(UsageError, match=words):
        architecture(numbers)
