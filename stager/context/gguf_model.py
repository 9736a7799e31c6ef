"""From GGUF metadata to an architecture, by llama.cpp's own rules.

Where a rule lives only in llama.cpp's code (which layers slide when the header does not say), the table here names it.
What cannot be known is counted as full attention and said in ``notes``: an upper bound, never a silent guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stager.context.architecture import Architecture, Kind, Layer, full, latent, short_conv, sliding, state_space
from stager.errors import InvalidFile

#: Period of the sliding pattern where the header has none: layer i slides if i % period < period - 1.
#: Source: ``set_swa_pattern`` in llama.cpp's ``src/models/*.cpp``.
_PERIODS = {
    "afmoe": 4,
    "cohere2": 4,
    "exaone4": 4,
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "llama4": 4,
    "olmo2": 4,
    "plamo3": 8,
}
_NEVER_SLIDES = {"phi3", "qwen2", "mistral"}  # the header may name a window; llama.cpp does not use it there
_INTERVAL = {"qwen35": 4, "qwen35moe": 4, "qwen3next": 4}  # full_attention_interval where the header has none
_OWN_KV = {"gemma3n": 20}  # layers that hold a cache; the ones behind share it
_BOTH = {"falcon-h1"}  # attention and a state in each layer


def architecture(metadata: Mapping[str, Any], *, source: str) -> Architecture:
    """Return the layers a GGUF header describes.

    Raises:
        InvalidFile: a key without which nothing can be computed is missing.
    """
    keys = _Keys(metadata, source)
    count = int(keys.need("block_count"))
    drafts = int(keys.get("nextn_predict_layers", 0))
    notes: list[str] = []
    layers = [
        replace(layer, draft=index >= count - drafts) for index, layer in enumerate(_layers(keys, count, drafts, notes))
    ]
    if drafts:
        notes.append(f"{drafts} draft (MTP) layer(s) are not counted: they hold a cache only where drafting is on.")
    return Architecture(
        str(metadata.get("general.name") or keys.arch),
        tuple(layers),
        int(keys.need("context_length")),
        source,
        tuple(notes),
    )


class _Keys:
    """The header's keys of one architecture, with their prefix."""

    def __init__(self, metadata: Mapping[str, Any], source: str) -> None:
        self._metadata = metadata
        self._source = source
        self.arch = str(metadata.get("general.architecture", ""))
        if not self.arch:
            raise InvalidFile(f"{source}: general.architecture is missing from the GGUF header.")

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        return self._metadata.get(f"{self.arch}.{key}", default)

    def need(self, key: str) -> Any:  # noqa: ANN401
        value = self.get(key)
        if value is None:
            raise InvalidFile(f"{self._source}: {self.arch}.{key} is missing from the GGUF header.")
        return value

    def each(self, key: str, count: int, default: Any = None) -> list[Any]:  # noqa: ANN401
        """A value per layer: an array, or a scalar that holds for all."""
        value = self.get(key, default)
        if isinstance(value, list):
            if len(value) < count:
                raise InvalidFile(f"{self._source}: {self.arch}.{key} has {len(value)} entries for {count} layers.")
            return value[:count]
        return [value] * count


def _layers(keys: _Keys, count: int, drafts: int, notes: list[str]) -> Sequence[Layer]:
    recurrent = _recurrent(keys, count, drafts)
    attention = _attention(keys, count, notes)
    state = _state(keys) if any(recurrent) or keys.arch in _BOTH else None
    owners = int(_OWN_KV.get(keys.arch, count - int(keys.get("attention.shared_kv_layers", 0))))
    layers = []
    for index in range(count):
        layer = attention[index]
        if recurrent[index] and state is not None:
            layer = state
        elif keys.arch in _BOTH and state is not None:
            layer = replace(layer, conv_state=state.conv_state, recurrent_state=state.recurrent_state)
        elif index >= owners and index < count - drafts:
            layer = Layer(Kind.SHARED)
        elif layer.key_width == 0:
            layer = Layer(Kind.STATELESS)
        layers.append(layer)
    return layers


def _recurrent(keys: _Keys, count: int, drafts: int) -> list[bool]:
    listed = keys.get("attention.recurrent_layers")
    if isinstance(listed, list):
        return [bool(item) for item in listed[:count]] + [False] * (count - len(listed))
    interval = keys.get("full_attention_interval", _INTERVAL.get(keys.arch))
    if interval:
        return [(index + 1) % int(interval) != 0 and index < count - drafts for index in range(count)]
    if _has_state(keys) and keys.arch not in _BOTH:
        # Jamba, Granite, LFM2: a layer without KV heads is recurrent; in Nemotron-H unless it has a feed-forward width
        heads = keys.each("attention.head_count_kv", count, 0)
        wide = keys.each("feed_forward_length", count, 0) if keys.arch.startswith("nemotron_h") else [0] * count
        return [int(head or 0) == 0 and int(width or 0) == 0 for head, width in zip(heads, wide, strict=True)]
    return [False] * count


def _has_state(keys: _Keys) -> bool:
    return keys.get("ssm.inner_size") is not None or keys.get("shortconv.l_cache") is not None


def _state(keys: _Keys) -> Layer:
    if (length := keys.get("shortconv.l_cache")) is not None:
        return short_conv(int(keys.need("embedding_length")), int(length))
    return state_space(
        inner=int(keys.need("ssm.inner_size")),
        groups=int(keys.get("ssm.group_count", 0)),
        state=int(keys.need("ssm.state_size")),
        conv=int(keys.need("ssm.conv_kernel")),
    )


def _attention(keys: _Keys, count: int, notes: list[str]) -> list[Layer]:
    rank = keys.get("attention.kv_lora_rank")
    if rank is not None and keys.get("attention.key_length_mla") is not None:
        return [latent(int(rank), int(keys.need("rope.dimension_count")))] * count
    if rank is not None:
        notes.append("The file was converted before latent attention was cached: keys and values are kept whole.")
    query_heads = keys.each("attention.head_count", count, 0)
    heads = keys.each("attention.head_count_kv", count)
    heads = [int(query if kv is None else kv or 0) for kv, query in zip(heads, query_heads, strict=True)]
    slides = _slides(keys, count, notes)
    plain = _dims(keys, query_heads, "")
    narrow = _dims(keys, query_heads, "_swa", plain)
    span = int(keys.get("attention.sliding_window", 0) or 0)
    return [
        sliding(head, *narrow, span=span) if slide else full(head, *plain)
        for head, slide in zip(heads, slides, strict=True)
    ]


def _dims(
    keys: _Keys, query_heads: Sequence[Any], suffix: str, default: tuple[int, int] | None = None
) -> tuple[int, int]:
    if default is None:
        heads = max((int(head or 0) for head in query_heads), default=0)
        width = int(keys.get("embedding_length", 0)) // heads if heads else 0
        default = (width, width)
    key = int(keys.get(f"attention.key_length{suffix}", default[0]))
    return key, int(keys.get(f"attention.value_length{suffix}", default[1]))


def _slides(keys: _Keys, count: int, notes: list[str]) -> list[bool]:
    if not keys.get("attention.sliding_window") or keys.arch in _NEVER_SLIDES:
        return [False] * count
    pattern = keys.get("attention.sliding_window_pattern", _PERIODS.get(keys.arch))
    if isinstance(pattern, list):
        return [bool(pattern[index % len(pattern)]) for index in range(count)] if pattern else [False] * count
    if pattern is None:
        notes.append(
            f"The header names a sliding window but not which layers of {keys.arch!r} slide; "
            "all are counted as full attention, which is an upper bound."
        )
        return [False] * count
    period = int(pattern)
    return [period == 0 or index % period < period - 1 for index in range(count)]
