"""What came of a case, and the table of them all."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    """One case's outcome. Times are seconds; None where a case has none of that kind."""

    name: str
    outcome: str  # restored, refused (nothing was ever changed), or broken
    seconds: float = 0.0  # from the fault to the host being free again
    trouble: tuple[str, ...] = ()
    lease_to_signal: float | None = None  # lease over -> the candidate is told to end
    gone_to_start: float | None = None  # the candidate is gone -> systemd starts the first of production
    boot_leg: float | None = None  # the host's own boot -> the restore begins
    words: str = ""
    log: tuple[str, ...] = field(default=(), repr=False)


def spread(values: Iterable[float | None]) -> str:
    """Median and maximum of what there is, in words."""
    seen = [value for value in values if value is not None]
    return f"median {statistics.median(seen):6.3f} s, max {max(seen):6.3f} s ({len(seen)} cases)" if seen else "none"


def table(results: Sequence[Result], faults: Sequence[str]) -> str:
    """One line a fault, then all of them, then the three times of the promise."""
    lines = [f"{'fault':<20} {'cases':>5} {'restored':>8} {'refused':>7} {'broken':>6} {'median':>8} {'max':>8}"]
    for fault in (*faults, ""):
        some = [result for result in results if result.name.endswith(fault)]
        if not some:
            continue
        count = {what: sum(r.outcome == what for r in some) for what in ("restored", "refused", "broken")}
        times = [r.seconds for r in some]
        lines.append(
            f"{fault or 'all':<20} {len(some):>5} {count['restored']:>8} {count['refused']:>7} {count['broken']:>6}"
            f" {statistics.median(times):>7.2f}s {max(times):>7.2f}s"
        )
    lines.append(f"lease over -> signal to the candidate: {spread(r.lease_to_signal for r in results)}")
    lines.append(f"candidate gone -> first production start: {spread(r.gone_to_start for r in results)}")
    lines.append(f"boot -> restore begins: {spread(r.boot_leg for r in results)}")
    return "\n".join(lines)
