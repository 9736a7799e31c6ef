"""What can be drawn of a probe's raw samples. A part that is not there, or not as expected, is simply not drawn.

Times in raw samples are microseconds from the first request (``streams``, ``gauge``) or nanoseconds (the rest); here
all are seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: More answers than this make a figure nobody reads.
MOST_ANSWERS = 16


@dataclass(frozen=True)
class Stream:
    """One stream: when its request was sent, when each token came, and how it ended."""

    sent: float
    tokens: tuple[float, ...]
    ended: str
    name: str = ""

    @property
    def ttft(self) -> float | None:
        """Seconds from the request to the first token."""
        return self.tokens[0] - self.sent if self.tokens else None


@dataclass(frozen=True)
class Series:
    """A value over time; ``missing`` are the times of samples that were not answered."""

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]
    missing: tuple[float, ...] = ()


@dataclass(frozen=True)
class Samples:
    """All that can be drawn."""

    streams: tuple[Stream, ...] = ()
    gauge: Series | None = None
    latencies: tuple[Series, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (any(stream.tokens for stream in self.streams) or self.gauge or self.latencies)


def read_samples(raw: bytes) -> Samples:
    """Read raw samples; what is no JSON object gives nothing to draw."""
    try:
        document = json.loads(raw)
    except ValueError:
        return Samples()
    if not isinstance(document, dict):
        return Samples()
    return Samples(
        streams=tuple(_streams(document.get("streams"))) or _answers(document),
        gauge=_gauge(document.get("gauge")),
        latencies=tuple(_latencies(document.get("latencies"))),
    )


def _streams(entries: object) -> Iterable[Stream]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not _is_number(entry.get("sent")):
            continue
        tokens = tuple(time / 1e6 for time in _list(entry.get("tokens")) if _is_number(time))
        reasons = _list(entry.get("finish_reasons"))
        ended = entry.get("error") or (reasons[-1] if reasons else entry.get("ended"))
        yield Stream(entry["sent"] / 1e6, tokens, str(ended or "no finish reason"))


def _answers(document: Mapping[str, Any]) -> tuple[Stream, ...]:
    """Single answers, wherever they lie: objects with ``sent_ns`` and ``delta_ns``, times after the sending."""
    found = sorted(_sketches(document, ""), key=lambda pair: pair[1]["sent_ns"])[:MOST_ANSWERS]
    streams = []
    for name, entry in found:
        sent = (entry["sent_ns"] - found[0][1]["sent_ns"]) / 1e9
        tokens = tuple(sent + time / 1e9 for time in entry["delta_ns"] if _is_number(time))
        reasons = _list(entry.get("finish_reasons"))
        ended = str(entry.get("error") or (reasons[-1] if reasons else entry.get("ended", "")))
        streams.append(Stream(sent, tokens, ended, name))
    return tuple(streams) if any(stream.tokens for stream in streams) else ()


def _sketches(value: object, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict) and _is_number(value.get("sent_ns")) and isinstance(value.get("delta_ns"), list):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _sketches(inner, str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _sketches(inner, f"{name} {number}".strip())


def _gauge(entry: object) -> Series | None:
    if not isinstance(entry, dict):
        return None
    points = tuple(
        (sample[1] / 1e6, float(sample[2]))
        for sample in _list(entry.get("samples"))
        if isinstance(sample, list) and len(sample) == 3 and all(map(_is_number, sample))
    )
    return Series(str(entry.get("where", "gauge")), "", points) if points else None


def _latencies(entries: object) -> Iterable[Series]:
    """Open-loop samples by endpoint: ``{name: [[intended_ns, asked_ns, answered_ns, error], ...]}``."""
    for name, samples in entries.items() if isinstance(entries, Mapping) else ():
        rows = [row for row in _list(samples) if isinstance(row, list) and len(row) >= 4 and _is_number(row[0])]
        if not rows:
            continue
        origin = min(row[0] for row in rows)
        good = tuple(
            ((row[0] - origin) / 1e9, (row[2] - row[0]) / 1e6) for row in rows if _is_number(row[2]) and not row[3]
        )
        missing = tuple((row[0] - origin) / 1e9 for row in rows if row[3])
        yield Series(str(name), "ms", good, missing)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
