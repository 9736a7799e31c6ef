"""The arithmetic: the field notes' example, sums that must hold for any model, padding and pools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stager.context.architecture import Architecture, Kind, Layer, full, gated_delta, latent, sliding
from stager.context.fit import (
    GIB,
    MIB,
    Pool,
    Stored,
    bytes_per_token,
    pool_bytes,
    state_bytes,
    tokens_that_fit,
    window_bytes,
    windows_that_fit,
)
from stager.context.formats import FORMATS, find_format

FULL = full(4, 256)
LINEAR = gated_delta(key_heads=16, value_heads=48, key_dim=128, value_dim=128, conv=4)
#: 64 layers, full attention every fourth, 4 KV heads of 256, a window of 262,144.
NOTES = Architecture("notes", tuple([LINEAR, LINEAR, LINEAR, FULL] * 16), 262_144, "field notes")


def stored(name: str) -> Stored:
    return Stored.both(find_format(name))


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("fp16", 16.0),
        ("8bit-ideal", 8.0),
        ("fp8", 8.0),
        ("4bit-ideal", 4.0),
        ("q8_0", 8.5),
        ("exl3-q8", 8.5),
        ("exl3-q6", 6.5),
        ("q5_1", 6.0),
        ("q5_0", 5.5),
        ("q4_1", 5.0),
        ("q4_0", 4.5),
        ("exl3-q4", 4.5),
    ],
)
def test_the_notes_full_window(name: str, gib: float) -> None:
    """The field notes' model takes these GiB for its full window."""
    assert window_bytes(NOTES, stored(name), NOTES.window) / GIB == gib


def test_the_notes_layers_and_tokens() -> None:
    """Sixteen of its 64 layers keep tokens, 65,536 bytes each at fp16."""
    assert NOTES.kv_layers == 16
    assert bytes_per_token(NOTES, stored("fp16")) == 65_536


def test_the_notes_recurrent_state() -> None:
    """Its 48 linear layers keep 149.625 MiB for each sequence."""
    assert state_bytes(NOTES) / MIB == 149.625


def test_the_notes_four_windows() -> None:
    """Four private windows need 16 GiB at a nominal 4 bit, and 18 with the scales."""
    assert window_bytes(NOTES, stored("4bit-ideal"), NOTES.window, windows=4) / GIB == 16.0
    assert window_bytes(NOTES, stored("q4_0"), NOTES.window, windows=4) / GIB == 18.0


@pytest.mark.parametrize(
    ("tokens", "name", "gib"),
    [(240_118, "fp16", 14.66), (240_118, "q8_0", 7.79), (240_118, "q4_0", 4.12), (76_056, "fp16", 4.64)],
)
def test_the_notes_single_requests(tokens: int, name: str, gib: float) -> None:
    """One request of the depths the notes measured takes these GiB."""
    assert window_bytes(NOTES, stored(name), tokens) / GIB == pytest.approx(gib, abs=0.005)


def test_counting_every_layer_is_four_times_wrong() -> None:
    """The naive count, every layer with a cache, gives 64 GiB."""
    naive = Architecture("naive", (FULL,) * 64, 262_144, "")

    assert window_bytes(naive, stored("fp16"), naive.window) / GIB == 64.0


def test_latent_attention_keeps_one_row() -> None:
    """DeepSeek V3: 61 layers of 512 + 64 values at fp16 are 70,272 bytes per token."""
    deepseek = Architecture("v3", (latent(512, 64),) * 61, 163_840, "")

    assert bytes_per_token(deepseek, stored("fp16")) == 70_272


def test_keys_and_values_may_differ() -> None:
    """Two formats add up to the mean of each alone, and the name shows both."""
    mixed = Stored(find_format("q8_0"), find_format("q4_0"))

    assert mixed.name == "q8_0/q4_0"
    assert 2 * bytes_per_token(NOTES, mixed) == bytes_per_token(NOTES, stored("q8_0")) + bytes_per_token(
        NOTES, stored("q4_0")
    )


@pytest.mark.parametrize(
    ("pool", "cells"),
    [
        (Pool(131_072), 1536),
        (Pool(131_072, 4, unified=False), 1536),
        (Pool(131_072, 4, unified=True), 4608),
        (Pool(131_072, 4, unified=False, swa_full=True), 32_768),
        (Pool(1024), 1024),
    ],
)
def test_sliding_cells(pool: Pool, cells: int) -> None:
    """A sliding cache holds its span (for each sequence of a unified one) and a batch, padded, at most the whole."""
    assert pool.sliding_cells(1024) == cells


def test_draft_layers_count_only_when_drafting() -> None:
    """A multi-token-prediction layer holds a cache only where it is used."""
    model = Architecture("m", (FULL, Layer(Kind.FULL, 1024, 1024, draft=True)), 1024, "")

    assert bytes_per_token(model, stored("fp16")) == 4096
    assert bytes_per_token(model, stored("fp16"), drafting=True) == 8192


def test_shared_layers_cost_nothing() -> None:
    """A layer that reads another's cache adds nothing."""
    model = Architecture("m", (FULL, Layer(Kind.SHARED)), 1024, "")

    assert bytes_per_token(model, stored("fp16")) == 4096
    assert model.kv_layers == 1


def test_windows_that_fit_pay_for_their_state() -> None:
    """Two windows of 4.5 GiB and a state each fit in 10 GiB; without room for the states only one in 9."""
    q4 = stored("q4_0")

    assert windows_that_fit(NOTES, q4, NOTES.window, 10 * GIB) == 2
    assert windows_that_fit(NOTES, q4, NOTES.window, 9 * GIB) == 1
    assert windows_that_fit(NOTES, q4, NOTES.window, -1) == 0


LAYERS = st.one_of(
    st.builds(full, st.integers(1, 8), st.sampled_from([32, 64, 128])),
    st.builds(lambda heads, span: sliding(heads, 64, span=span), st.integers(1, 8), st.integers(1, 4096)),
    st.builds(latent, st.sampled_from([256, 512]), st.just(64)),
    st.just(LINEAR),
)
MODELS = st.builds(
    lambda layers, window: Architecture("any", tuple(layers), window, ""),
    st.lists(LAYERS, min_size=1, max_size=6),
    st.integers(256, 100_000),
)


@given(model=MODELS, form=st.sampled_from(FORMATS), slots=st.integers(1, 8), room=st.integers(0, 1 << 36))
def test_the_largest_pool_fits_and_the_next_does_not(model: Architecture, form, slots: int, room: int) -> None:
    """What `tokens_that_fit` answers fits beside the states, and one more padding unit does not."""
    cache = Stored.both(form)
    tokens = tokens_that_fit(model, cache, room, slots=slots)

    def takes(count: int) -> int:
        return pool_bytes(model, cache, Pool(count, slots=slots, unified=True)) + slots * state_bytes(model)

    assert tokens == 0 or takes(tokens) <= room
    assert tokens == model.window * slots or takes(tokens + 1) > room


@given(model=MODELS, slots=st.integers(1, 8), tokens=st.integers(1, 400).map(lambda units: units * 256))
def test_a_shared_pool_never_takes_more_than_private_windows(model: Architecture, slots: int, tokens: int) -> None:
    """A pool of one window's tokens, shared by n, costs no more than n private windows."""
    cache = Stored.both(find_format("fp16"))
    shared = pool_bytes(model, cache, Pool(tokens, slots=slots, unified=True))

    assert shared <= window_bytes(model, cache, tokens, windows=slots)
