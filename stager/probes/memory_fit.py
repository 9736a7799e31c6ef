"""Device memory against prompt length: a straight line, its slope, and whether the floor is back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: What drivers and allocators keep for themselves after work, in bytes.
FLOOR_SLACK = 32 * 2**20
#: And as a share of the floor.
FLOOR_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Line:
    """bytes = base + slope x tokens, and the share of the variance it explains (None for a flat series)."""

    base: float
    slope: float
    r_squared: float | None


def fit(points: Sequence[tuple[int, int]]) -> Line | None:
    """Fit a line by least squares through (tokens, bytes); None with fewer than two different lengths."""
    count = len(points)
    if len({tokens for tokens, _ in points}) < 2:
        return None
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread_x = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread_x
    base = mean_y - slope * mean_x
    spread_y = sum((y - mean_y) ** 2 for _, y in points)
    left = sum((y - base - slope * x) ** 2 for x, y in points)
    return Line(base, slope, 1 - left / spread_y if spread_y else None)


def above_floor(before: int, after: int) -> int:
    """Return how many bytes the floor has risen beyond the slack; 0 where it is back."""
    risen = after - before
    return risen if risen > max(FLOOR_SLACK, FLOOR_SHARE * before) else 0
