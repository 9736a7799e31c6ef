"""The whole answer about one model as data, and as the JSON document the contract fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stager.context.architecture import Architecture, Kind
from stager.context.ceiling import Card, Ceiling, Claims, ceiling
from stager.context.fit import GIB, MIB, Stored, bytes_per_token, state_bytes, window_bytes
from stager.context.formats import find_format

#: Said with every answer: what the arithmetic leaves out.
NOT_COUNTED = (
    "compute buffers and graphs",
    "the server's own memory, and the allocator's losses",
    "fixed pages per request of engines that page hybrid models in groups (vLLM)",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One storage format: bytes per token, of one native window, and of n private windows of the depth asked for."""

    stored: Stored
    bytes_per_token: int
    window_bytes: int
    private: dict[int, int]
    ceiling: Ceiling


@dataclass(frozen=True, slots=True)
class Report:
    """What fits: one row per format; ``card`` and ``claims`` as they were given."""

    architecture: Architecture
    rows: tuple[Row, ...]
    claims: Claims
    card: Card
    state_bytes: int

    @property
    def depth(self) -> int:
        """Tokens of one private window: as many as each request was said to have, or the native window."""
        return self.claims.context or self.architecture.window

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """Per format, why the claims cannot hold together; formats without a reason are absent."""
        return {row.stored.name: row.ceiling.reasons for row in self.rows if row.ceiling.reasons}


def report(
    architecture: Architecture,
    formats: Sequence[Stored],
    claims: Claims,
    card: Card,
    *,
    counts: Sequence[int] = (1, 2, 4, 8),
    pool_tokens: int | None = None,
) -> Report:
    """Do the arithmetic for each format; ``counts`` are the numbers of private windows to show."""
    wanted = sorted({*counts, claims.slots or 1})
    depth = claims.context or architecture.window
    rows = tuple(
        Row(
            stored,
            bytes_per_token(architecture, stored),
            window_bytes(architecture, stored, architecture.window),
            {n: window_bytes(architecture, stored, depth, windows=n) for n in wanted},
            ceiling(architecture, stored, claims, card, pool_tokens=pool_tokens),
        )
        for stored in formats
    )
    return Report(architecture, rows, claims, card, state_bytes(architecture))


def document(answer: Report) -> dict[str, Any]:
    """Return the JSON document. ``bytes_per_token`` is for fp16; sizes are GiB unless their name says otherwise."""
    architecture = answer.architecture
    first = answer.rows[0].ceiling
    return {
        "model": architecture.name,
        "source": architecture.source,
        "window": architecture.window,
        "layers": architecture.census(),
        "kv_layers": architecture.kv_layers,
        "sliding_spans": sorted({layer.span for layer in architecture.layers if layer.kind is Kind.SLIDING}),
        "bytes_per_token": bytes_per_token(architecture, Stored.both(find_format("fp16"))),
        "bytes_per_token_by_format": {row.stored.name: row.bytes_per_token for row in answer.rows},
        "formats": {row.stored.name: _gib(row.window_bytes) for row in answer.rows},
        "private_window_tokens": answer.depth,
        "private_windows": {
            row.stored.name: {str(n): _gib(size) for n, size in row.private.items()} for row in answer.rows
        },
        "recurrent_state_mib_per_sequence": round(answer.state_bytes / MIB, 6),
        "card": {"memory_gib": _optional(answer.card.memory), "weights_gib": _optional(answer.card.weights)},
        "ceiling": {
            "slots": first.slots,
            "context": first.context,
            "pool_tokens": first.pool_tokens,
            "pool_promises_tokens_each": first.pool_each,
            "pool_holds_requests_of_that_context": first.pool_requests,
            "formats": {row.stored.name: _ceiling(row.ceiling) for row in answer.rows},
        },
        "notes": list(architecture.notes),
        "not_counted": list(NOT_COUNTED),
    }


def _ceiling(item: Ceiling) -> dict[str, Any]:
    return {
        "private_gib": _gib(item.private_bytes),
        "pool_gib": _gib(item.pool_bytes),
        "private_windows_that_fit": item.windows_fit,
        "pool_tokens_that_fit": item.pool_tokens_fit,
        "cannot_hold_together": list(item.reasons),
    }


def _gib(size: int) -> float:
    return round(size / GIB, 6)


def _optional(size: int | None) -> float | None:
    return None if size is None else _gib(size)
