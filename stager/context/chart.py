"""A bar chart for the terminal: n private windows of each format against what the card has left."""

from __future__ import annotations

from collections.abc import Sequence

from stager.context.fit import GIB
from stager.context.report import Report

_EIGHTHS = " ▏▎▍▌▋▊▉"


def chart(answer: Report, *, width: int = 48, counts: Sequence[int] = (1, 4), ascii_only: bool = False) -> str:
    """Return lines of text: a bar per format and count, and a mark where the card is full.

    The scale is linear up to the largest bar or the card, whichever is more; ``ascii_only`` avoids block characters.
    """
    state = answer.state_bytes
    bars = [
        (f"{row.stored.name} x{n}", row.private[n] + n * state)
        for row in answer.rows
        for n in counts
        if n in row.private
    ]
    free = answer.card.free
    most = max([size for _, size in bars] + [free or 0], default=0)
    if most == 0:
        return ""
    label = max(len(name) for name, _ in bars)
    scale = width / most
    mark = None if free is None else int(free * scale)
    lines = [
        f"{name:<{label}}  {_bar(size * scale, width, mark, ascii_only)} {size / GIB:8.2f} GiB{_verdict(size, free)}"
        for name, size in bars
    ]
    if free is not None:
        lines.append(f"{'':<{label}}  | marks {max(free, 0) / GIB:.2f} GiB, what the weights leave")
    return "\n".join(lines)


def _bar(length: float, width: int, mark: int | None, ascii_only: bool) -> str:
    whole = int(length)
    body = "#" * round(length) if ascii_only else "█" * whole + _EIGHTHS[int((length - whole) * 8)].strip()
    cells = list(body[:width].ljust(width))
    if mark is not None and mark >= 0:
        cells[min(mark, width - 1)] = "|"
    return "".join(cells)


def _verdict(size: int, free: int | None) -> str:
    if free is None:
        return ""
    return "  fits" if size <= free else "  too much"
