"""What a launch command says about the cache: its formats and whether it is shared; and whether the claims fit then.

A playbook has no key for the cache's format, but the words that start the engine often name it. Where they say nothing,
the smallest format an engine stores is assumed, so that only what can hold in no format is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stager.context.architecture import Architecture
from stager.context.ceiling import Claimed, claims_fit
from stager.context.fit import Stored
from stager.context.formats import FORMATS, Format, find_format
from stager.errors import UsageError

#: Flags that name a format: llama.cpp ``common/arg.cpp``; vLLM and SGLang; ExLlamaV3 ``model_init.py``.
_KEYS = ("-ctk", "--cache-type-k")
_VALUES = ("-ctv", "--cache-type-v")
_BOTH = ("--kv-cache-dtype",)
_BITS = ("-cq", "--cache_quant")
_SHARED = ("-kvu", "--kv-unified")
_SIZE = ("-c", "--ctx-size")

_WORDS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "fp8_ds_mla": "fp8"}
_PLAIN = find_format("fp16")
SMALLEST = min((form for form in FORMATS if not form.ideal), key=lambda form: form.bytes_per_value)


@dataclass(frozen=True, slots=True)
class Launched:
    """What the words say: the formats, and the tokens of a shared cache; None where they say nothing."""

    stored: Stored | None
    pool_tokens: int | None


@dataclass(frozen=True, slots=True)
class LaunchFit:
    """Every reason why the claims cannot hold with this launch; ``assumed`` where its words name no format."""

    stored: Stored
    assumed: bool
    reasons: tuple[str, ...]


def read_launch(words: Sequence[str]) -> Launched:
    """Read the flags of llama.cpp, vLLM, SGLang and ExLlamaV3; unknown ones are passed over."""
    both = _format(_after(words, _BOTH))
    bits = [_format(f"q{part.strip()}") for part in (_after(words, _BITS) or "").split(",") if part.strip()]
    key = _format(_after(words, _KEYS)) or both or (bits[0] if bits else None)
    value = _format(_after(words, _VALUES)) or both or (bits[-1] if bits else None)
    stored = Stored(key or _PLAIN, value or _PLAIN) if key or value else None
    size = _after(words, _SIZE) or ""
    shared = any(word in _SHARED for word in words)
    return Launched(stored, int(size) if shared and size.isdecimal() and int(size) > 0 else None)


def launch_fit(
    architecture: Architecture,
    claims: Claimed,
    words: Sequence[str],
    device_memory: int | None,
    weights: int | None,
    *,
    default: Format | None = None,
) -> LaunchFit:
    """Hold a playbook's claims against the card in the formats of its launch; sizes in bytes, None where not known.

    ``default`` is what the engine stores when its launch says nothing (llama.cpp: fp16), where the caller knows it.
    """
    launched = read_launch(words)
    stored = launched.stored or Stored.both(default or SMALLEST)
    reasons = claims_fit(architecture, claims, stored, device_memory, weights, pool_tokens=launched.pool_tokens)
    return LaunchFit(stored, launched.stored is None and default is None, tuple(reasons))


def _after(words: Sequence[str], flags: Sequence[str]) -> str | None:
    """Return the last value of a flag, written apart or with an equals sign."""
    found = None
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in flags:
            found = value if equals else words[index + 1] if index + 1 < len(words) else None
    return found


def _format(word: str | None) -> Format | None:
    if word is None:
        return None
    try:
        return find_format(_WORDS.get(word, word))
    except UsageError:
        return None  # such as vLLM's `auto`: the model's own type, which the words do not say
