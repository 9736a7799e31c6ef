"""Storage formats: block sizes, rows, names."""

from __future__ import annotations

import gguf
import pytest

from stager.context.formats import FORMATS, find_format
from stager.errors import UsageError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fp32", gguf.GGMLQuantizationType.F32),
        ("fp16", gguf.GGMLQuantizationType.F16),
        ("bf16", gguf.GGMLQuantizationType.BF16),
        ("q8_0", gguf.GGMLQuantizationType.Q8_0),
        ("q5_1", gguf.GGMLQuantizationType.Q5_1),
        ("q5_0", gguf.GGMLQuantizationType.Q5_0),
        ("q4_1", gguf.GGMLQuantizationType.Q4_1),
        ("q4_0", gguf.GGMLQuantizationType.Q4_0),
        ("iq4_nl", gguf.GGMLQuantizationType.IQ4_NL),
    ],
)
def test_block_sizes_are_ggmls(name: str, kind: gguf.GGMLQuantizationType) -> None:
    """The block sizes are those of ggml's own table."""
    form = find_format(name)

    assert (form.block_values, form.block_bytes) == gguf.GGML_QUANT_SIZES[kind]


@pytest.mark.parametrize(("name", "bits"), [("exl3-q8", 8), ("exl3-q6", 6), ("exl3-q4", 4)])
def test_exl3_adds_half_a_bit(name: str, bits: int) -> None:
    """ExLlamaV3 keeps a 16-bit scale for 32 values."""
    assert find_format(name).bytes_per_value * 8 == bits + 16 / 32


def test_a_row_is_stored_in_whole_blocks() -> None:
    """A row that ends within a block pays for the whole block."""
    assert find_format("q8_0").row_bytes(33) == 2 * 34


def test_ideal_formats_are_marked() -> None:
    """Nominal widths that no engine stores say so."""
    assert {form.name for form in FORMATS if form.ideal} == {"8bit-ideal", "4bit-ideal"}


@pytest.mark.parametrize(("spelling", "name"), [("F16", "fp16"), (" Q8_0 ", "q8_0"), ("q6", "exl3-q6")])
def test_other_spellings(spelling: str, name: str) -> None:
    """Engines' own spellings are understood."""
    assert find_format(spelling).name == name


def test_unknown_format_lists_the_known_ones() -> None:
    """A typing error is answered with all names."""
    with pytest.raises(UsageError, match=r"q3_k.*q8_0"):
        find_format("q3_k")
