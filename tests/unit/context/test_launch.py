"""What a launch command says about the cache, and whether the claims fit then."""

from __future__ import annotations

import shlex

import pytest

from stager.context.ceiling import Claims
from stager.context.fit import GIB
from stager.context.formats import find_format
from stager.context.launch import launch_fit, read_launch
from tests.unit.context.test_fit import NOTES


@pytest.mark.parametrize(
    ("launch", "stored"),
    [
        ("llama-server -m m.gguf -ctk q8_0 -ctv q4_0", "q8_0/q4_0"),
        ("llama-server --cache-type-k=q8_0", "q8_0/fp16"),
        ("vllm serve m --kv-cache-dtype fp8_e5m2", "fp8"),
        ("vllm serve m --kv-cache-dtype=bfloat16", "bf16"),
        ("python serve.py -cq 6", "exl3-q6"),
        ("python serve.py --cache_quant 8,4", "exl3-q8/exl3-q4"),
        ("llama-server -ctk q4_0 -ctk q8_0 -ctv q8_0", "q8_0"),
        ("vllm serve m --kv-cache-dtype auto", None),
        ("llama-server -ctk", None),
        ("serve --anything else", None),
    ],
)
def test_formats(launch: str, stored: str | None) -> None:
    """Each engine's flags are read, the last one counts, and what says nothing gives nothing."""
    found = read_launch(shlex.split(launch)).stored

    assert (found and found.name) == stored


@pytest.mark.parametrize(
    ("launch", "tokens"),
    [
        ("llama-server -c 262144 -kvu -np 4", 262_144),
        ("llama-server --ctx-size=1024 --kv-unified", 1024),
        ("llama-server -c 262144 -np 4", None),
        ("llama-server -kvu -c 0", None),
    ],
)
def test_a_shared_cache(launch: str, tokens: int | None) -> None:
    """A cache is shared where the words say so, and as large as they say."""
    assert read_launch(shlex.split(launch)).pool_tokens == tokens


def test_claims_in_the_launched_format() -> None:
    """Two windows fit at 4 bit and not at fp16; the format comes from the launch."""
    small = launch_fit(NOTES, Claims(2), ["serve", "-ctk", "q4_0", "-ctv", "q4_0"], 24 * GIB, 12 * GIB)
    plain = launch_fit(NOTES, Claims(2), ["serve", "-ctk", "f16"], 24 * GIB, 12 * GIB)

    assert (small.assumed, small.reasons) == (False, ())
    assert "of fp16 cache" in plain.reasons[0]


def test_an_unknown_format_refuses_only_the_impossible() -> None:
    """Where the launch names no format the smallest one is assumed, and said to be."""
    possible = launch_fit(NOTES, Claims(2), ["serve"], 24 * GIB, 12 * GIB)
    impossible = launch_fit(NOTES, Claims(4), ["serve"], 24 * GIB, 12 * GIB)

    assert (possible.assumed, possible.reasons) == (True, ())
    assert "18.58 GiB" in impossible.reasons[0]


def test_an_engines_own_default() -> None:
    """Where the caller knows what the engine stores by itself, that is judged."""
    found = launch_fit(NOTES, Claims(2), ["serve"], 24 * GIB, 12 * GIB, default=find_format("fp16"))

    assert found.assumed is False
    assert "of fp16 cache" in found.reasons[0]


def test_a_shared_cache_is_judged_as_such() -> None:
    """Four times the depth of a shared cache cannot hold, whatever the card."""
    words = shlex.split("llama-server -c 262144 -kvu -np 4 -ctk q4_0 -ctv q4_0")
    (reason,) = launch_fit(NOTES, Claims(4, 240_118), words, None, None).reasons

    assert "the shared pool has 262,144" in reason
