"""Storage formats of a KV cache: how many bytes a block of values takes, scales included.

A format's nominal width ("4 bit") is what its name says; the cache holds whole blocks, and each block carries
its scales. Sources: ggml's block structs (``ggml-common.h``) for the GGUF formats, ``cache/quant.py`` of ExLlamaV3
(bits + 16/32 per value) for its three, plain element sizes for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from stager.errors import UsageError


@dataclass(frozen=True, slots=True)
class Format:
    """One storage format: ``block_bytes`` bytes hold ``block_values`` values; no engine stores an ``ideal`` one."""

    name: str
    block_bytes: int
    block_values: int
    source: str
    ideal: bool = False

    @property
    def bytes_per_value(self) -> float:
        """Bytes one value costs, its share of the scales included."""
        return self.block_bytes / self.block_values

    def row_bytes(self, values: int) -> int:
        """Bytes of one row of ``values`` values; a row is stored in whole blocks."""
        return -(-values // self.block_values) * self.block_bytes


_GGML = "ggml block struct"
_EXL3 = "ExLlamaV3 cache/quant.py: bits + 16/32"
_PLAIN = "element size"
_NOMINAL = "nominal width, no scales"

FORMATS: tuple[Format, ...] = (
    Format("fp32", 4, 1, _PLAIN),
    Format("fp16", 2, 1, _PLAIN),
    Format("bf16", 2, 1, _PLAIN),
    Format("fp8", 1, 1, "element size; one scale per tensor"),
    Format("q8_0", 34, 32, f"{_GGML}: 32 x 8 bit + fp16 scale"),
    Format("q5_1", 24, 32, f"{_GGML}: 32 x 5 bit + fp16 scale and minimum"),
    Format("q5_0", 22, 32, f"{_GGML}: 32 x 5 bit + fp16 scale"),
    Format("q4_1", 20, 32, f"{_GGML}: 32 x 4 bit + fp16 scale and minimum"),
    Format("q4_0", 18, 32, f"{_GGML}: 32 x 4 bit + fp16 scale"),
    Format("iq4_nl", 18, 32, f"{_GGML}: 32 x 4 bit + fp16 scale"),
    Format("exl3-q8", 34, 32, _EXL3),
    Format("exl3-q6", 26, 32, _EXL3),
    Format("exl3-q4", 18, 32, _EXL3),
    Format("8bit-ideal", 1, 1, _NOMINAL, ideal=True),
    Format("4bit-ideal", 1, 2, _NOMINAL, ideal=True),
)

_BY_NAME = {item.name: item for item in FORMATS}
_ALIASES = {
    "f16": "fp16",
    "f32": "fp32",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "q8": "exl3-q8",
    "q6": "exl3-q6",
    "q4": "exl3-q4",
}

#: What a recurrent state is kept in, whatever the cache's format (llama.cpp: ``type_r = type_s = F32``).
STATE_FORMAT = _BY_NAME["fp32"]


def find_format(name: str) -> Format:
    """Return the format of that name (engines' other spellings included).

    Raises:
        UsageError: no such format; the message lists all.
    """
    key = name.strip().lower()
    found = _BY_NAME.get(_ALIASES.get(key, key))
    if found is None:
        raise UsageError(f"Unknown cache format {name!r}; known are {', '.join(_BY_NAME)}.")
    return found
