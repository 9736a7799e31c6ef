"""What a claim needs against what a card holds: which promises can be kept, and which cannot hold together.

A field such as ``batch_limit: 4`` beside ``context_length: 262144`` cannot tell a shared pool from private windows. The
functions here can: they say what each of the two takes, and every reason why a claim does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stager.context.architecture import Architecture
from stager.context.fit import (
    GIB,
    Pool,
    Stored,
    pool_bytes,
    state_bytes,
    tokens_that_fit,
    window_bytes,
    windows_that_fit,
)


class Claimed(Protocol):
    """What an engine is configured to accept: ``slots`` requests at once (None: one), ``context`` tokens each.

    A playbook's ``claims`` are of this shape; a ``context`` of None means the native window.
    """

    @property
    def slots(self) -> int | None: ...  # noqa: D102

    @property
    def context(self) -> int | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims as plain values."""

    slots: int | None = None
    context: int | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """Bytes of device memory, and of weights resident on it (None: not known)."""

    memory: int | None = None
    weights: int | None = None

    @property
    def free(self) -> int | None:
        """Bytes left beside the weights; None where either is not known."""
        return None if self.memory is None or self.weights is None else self.memory - self.weights


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What holds for one storage format; sizes in bytes, None where the card is not known.

    A pool of ``pool_tokens`` shared by ``slots`` requests promises each of them ``pool_each`` tokens; of requests that
    need ``context`` tokens it holds ``pool_requests`` at the same time.
    """

    stored: str
    slots: int
    context: int
    private_bytes: int
    pool_tokens: int
    pool_bytes: int
    pool_each: int
    pool_requests: int
    windows_fit: int | None
    pool_tokens_fit: int | None
    reasons: tuple[str, ...]


def ceiling(
    architecture: Architecture, stored: Stored, claims: Claimed, card: Card, *, pool_tokens: int | None = None
) -> Ceiling:
    """Return what the claims take and what the card holds, with every reason against them.

    ``pool_tokens`` says that the engine shares one cache of that size; otherwise the windows are private, and the pool
    beside them is shown at the size of the native window.
    """
    context, slots = _context(architecture, claims), claims.slots or 1
    shared = pool_tokens if pool_tokens is not None else architecture.window
    free = card.free
    return Ceiling(
        stored=stored.name,
        slots=slots,
        context=context,
        private_bytes=_private(architecture, stored, slots, context),
        pool_tokens=shared,
        pool_bytes=_pool(architecture, stored, slots, shared),
        pool_each=shared // slots,
        pool_requests=shared // context,
        windows_fit=None if free is None else windows_that_fit(architecture, stored, context, free),
        pool_tokens_fit=None if free is None else tokens_that_fit(architecture, stored, free, slots=slots),
        reasons=tuple(claims_fit(architecture, claims, stored, card.memory, card.weights, pool_tokens=pool_tokens)),
    )


def claims_fit(
    architecture: Architecture,
    claims: Claimed,
    stored: Stored,
    device_memory: int | None,
    weights: int | None,
    *,
    pool_tokens: int | None = None,
) -> list[str]:
    """Return every reason why the claims cannot hold together; an empty list means that nothing here forbids them.

    What is claimed is ``slots`` requests of ``context`` tokens at the same time, in private windows, or in one
    shared cache of ``pool_tokens`` tokens where the engine has such a one. ``device_memory`` and ``weights`` are
    bytes; without weights the cache alone is held against the card. Compute buffers and the server's own memory come
    on top, so an empty list is no proof that it fits.
    """
    context, slots = _context(architecture, claims), claims.slots or 1
    reasons = []
    if context > architecture.window:
        reasons.append(
            f"{context:,} tokens per request are more than the model's native window of {architecture.window:,}."
        )
    wanted = slots * context
    if pool_tokens is not None and wanted > pool_tokens:
        reasons.append(
            f"{_together(slots, context)} need {wanted:,} tokens of cache; the shared pool has {pool_tokens:,}. "
            f"It promises {pool_tokens // slots:,} tokens each, or {pool_tokens // context} of that depth."
        )
    if device_memory is not None:
        free = device_memory - (weights or 0)
        beside = "" if weights is None else f" beside {_gib(weights)} of weights"
        room = f"a card of {_gib(device_memory)}{beside} leaves {_gib(max(free, 0))}"
        if pool_tokens is None:
            reasons += _private_on_card(architecture, stored, slots, context, free, room)
        else:
            reasons += _pool_on_card(architecture, stored, slots, pool_tokens, free, room)
    return reasons


def _private_on_card(
    architecture: Architecture, stored: Stored, slots: int, context: int, free: int, room: str
) -> list[str]:
    need = _private(architecture, stored, slots, context)
    if need <= free:
        return []
    fit = windows_that_fit(architecture, stored, context, free)
    says = f"{_together(slots, context)} take {_gib(need)} of {stored.name} cache; {room}: it holds {fit} of them"
    if slots > 1:
        pool = tokens_that_fit(architecture, stored, free, slots=slots)
        says += f", or a pool of at most {pool:,} tokens shared by {slots} ({pool // slots:,} each)"
    return [says + "."]


def _pool_on_card(
    architecture: Architecture, stored: Stored, slots: int, pool_tokens: int, free: int, room: str
) -> list[str]:
    need = _pool(architecture, stored, slots, pool_tokens)
    if need <= free:
        return []
    most = tokens_that_fit(architecture, stored, free, slots=slots)
    says = f"A shared pool of {pool_tokens:,} tokens takes {_gib(need)} of {stored.name} cache; {room}"
    return [f"{says}: it holds at most {most:,} tokens."]


def _private(architecture: Architecture, stored: Stored, slots: int, context: int) -> int:
    return window_bytes(architecture, stored, context, windows=slots) + slots * state_bytes(architecture)


def _pool(architecture: Architecture, stored: Stored, slots: int, tokens: int) -> int:
    shared = Pool(tokens, slots=slots, unified=True)
    return pool_bytes(architecture, stored, shared) + slots * state_bytes(architecture)


def _context(architecture: Architecture, claims: Claimed) -> int:
    return architecture.window if claims.context is None else claims.context


def _together(slots: int, context: int) -> str:
    return f"{slots} request{'s' if slots > 1 else ''} of {context:,} tokens at once"


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"
