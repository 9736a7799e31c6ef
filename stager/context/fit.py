"""KV-cache arithmetic on an architecture: pure functions, bytes in and out.

Formulas (checked against llama.cpp's source and, in the tests, against the server's own allocation log):
keys and values of a layer are ``(key_width + value_width)`` values per cell, stored in whole blocks of the format;
a recurrent state is fp32 and fixed per sequence; a sliding layer keeps at most its span and the batch being computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from stager.context.architecture import Architecture, Kind, Layer
from stager.context.formats import STATE_FORMAT, Format

GIB = 1 << 30
MIB = 1 << 20

#: llama.cpp pads cache sizes to this many cells (``GGML_PAD`` in llama-context.cpp and llama-kv-cache-iswa.cpp).
PAD = 256
#: llama.cpp's ``n_ubatch``: the tokens computed in one go, which a sliding cache holds besides its span.
UBATCH = 512


@dataclass(frozen=True, slots=True)
class Stored:
    """How keys and values are stored; llama.cpp allows two formats (``-ctk``, ``-ctv``)."""

    key: Format
    value: Format

    @classmethod
    def both(cls, form: Format) -> Stored:
        """One format for keys and values."""
        return cls(form, form)

    @property
    def name(self) -> str:
        """``q8_0``, or ``q8_0/q4_0`` where keys and values differ."""
        return self.key.name if self.key == self.value else f"{self.key.name}/{self.value.name}"


@dataclass(frozen=True, slots=True)
class Pool:
    """A cache as llama.cpp lays it out: ``n_ctx`` cells in all for ``slots`` sequences, in one buffer or split."""

    n_ctx: int
    slots: int = 1
    unified: bool = False
    ubatch: int = UBATCH
    swa_full: bool = False

    @property
    def streams(self) -> int:
        """Separate buffers."""
        return 1 if self.unified else self.slots

    @property
    def cells(self) -> int:
        """Cells of each buffer, padded (llama-context.cpp: ``n_ctx_seq``)."""
        return pad(pad(self.n_ctx) // self.streams)

    def sliding_cells(self, span: int) -> int:
        """Cells of each buffer of a sliding layer (llama-kv-cache-iswa.cpp)."""
        if self.swa_full:
            return self.cells
        return pad(min(self.cells, span * (self.slots if self.unified else 1) + self.ubatch))


def pad(cells: int) -> int:
    """Round up to a whole number of padding units."""
    return -(-cells // PAD) * PAD


def layer_token_bytes(layer: Layer, stored: Stored) -> int:
    """Bytes one cell of one layer takes."""
    return stored.key.row_bytes(layer.key_width) + stored.value.row_bytes(layer.value_width)


def bytes_per_token(architecture: Architecture, stored: Stored, *, drafting: bool = False) -> int:
    """Bytes that every further token costs for good: layers that attend to everything, not the sliding ones."""
    layers = architecture.counted(drafting=drafting)
    return sum(layer_token_bytes(layer, stored) for layer in layers if layer.kind in (Kind.FULL, Kind.LATENT))


def pool_bytes(architecture: Architecture, stored: Stored, pool: Pool, *, drafting: bool = False) -> int:
    """Bytes of keys and values of a whole pool, without recurrent state."""
    total = 0
    for layer in architecture.counted(drafting=drafting):
        if layer.keeps_tokens:
            cells = pool.sliding_cells(layer.span) if layer.kind is Kind.SLIDING else pool.cells
            total += layer_token_bytes(layer, stored) * cells * pool.streams
    return total


def window_bytes(architecture: Architecture, stored: Stored, tokens: int, *, windows: int = 1) -> int:
    """Bytes of keys and values of ``windows`` private windows of ``tokens`` tokens each; no engine's padding."""
    each = 0
    for layer in architecture.counted():
        if layer.keeps_tokens:
            cells = min(tokens, Pool(tokens).sliding_cells(layer.span)) if layer.kind is Kind.SLIDING else tokens
            each += layer_token_bytes(layer, stored) * cells
    return windows * each


def state_bytes(architecture: Architecture, *, drafting: bool = False, rows: int = 1) -> int:
    """Bytes of recurrent state of one sequence; ``rows`` is 1 plus the rows kept for speculation."""
    return rows * sum(STATE_FORMAT.row_bytes(layer.state) for layer in architecture.counted(drafting=drafting))


def windows_that_fit(architecture: Architecture, stored: Stored, tokens: int, free: int) -> int:
    """How many private windows of ``tokens`` tokens, each with its recurrent state, ``free`` bytes hold."""
    each = window_bytes(architecture, stored, tokens) + state_bytes(architecture)
    return max(free, 0) // each if each else 0


def tokens_that_fit(architecture: Architecture, stored: Stored, free: int, *, slots: int = 1) -> int:
    """The largest shared pool in tokens that ``free`` bytes hold beside ``slots`` recurrent states.

    At most ``slots`` native windows. Found by bisection, since sliding layers make the cost a bent line.
    """
    room = free - slots * state_bytes(architecture)
    low, high = 0, architecture.window * slots
    while low < high:
        middle = (low + high + 1) // 2
        if pool_bytes(architecture, stored, Pool(middle, slots=slots, unified=True)) <= room:
            low = middle
        else:
            high = middle - 1
    return low
