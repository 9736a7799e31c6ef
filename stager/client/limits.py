"""Bounds that hold against any server, however it behaves: bytes, lines, events, time."""

from __future__ import annotations

from dataclasses import dataclass


class LimitExceeded(Exception):
    """A server went over a bound; the message names the bound and its value."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one answer may cost at most.

    Sizes are in bytes, times in seconds. ``idle`` is the longest silence between two reads once the
    answer has begun; ``total`` covers everything from the request to the last byte.
    """

    line: int = 1 << 20
    event: int = 4 << 20
    events: int = 400_000
    reads: int = 400_000
    body: int = 64 << 20
    raw: int = 4 << 20
    header_line: int = 8190
    connect: float = 10.0
    idle: float = 120.0
    total: float = 600.0
