"""Just enough of the Prometheus text format to read one number."""

from __future__ import annotations

import math
import re

_LINE = re.compile(r"^(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{.*\})?[ \t]+(?P<value>\S+)(?:[ \t]+-?\d+)?[ \t]*$")


def metric_sum(text: str, name: str) -> float | None:
    """Return the sum over all series of a metric, None where the text has no such metric.

    A series per API-server process or per model is usual (vLLM), so the whole is the sum.
    """
    total: float | None = None
    for line in text.splitlines():
        if not line.startswith(name):
            continue
        match = _LINE.match(line)
        if match is None or match["name"] != name:
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if math.isfinite(value):
            total = (total or 0.0) + value
    return total
