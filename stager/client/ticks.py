"""The one clock of measurements: monotonic, nanoseconds, this process only."""

from __future__ import annotations

from time import perf_counter_ns

#: Nanoseconds on a clock that never steps; differences mean something, values do not.
ticks = perf_counter_ns
