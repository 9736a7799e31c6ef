"""What can be drawn of a probe's raw samples. A part that is not there, or not as expected, is simply not drawn.

Times in raw samples are microseconds from the first request (``streams``, ``gauge``) or nanoseconds (the rest); here
all are seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    """A value over time; ``missing`` are the times of samples without a good answer, ``span`` what was waited for."""

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]
    missing: tuple[float, ...] = ()
    span: tuple[float, float] | None = None


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

    @property
    def length(self) -> float:
        """Seconds from the first request to the last token or gauge sample."""
        ends = [time for stream in self.streams for time in stream.tokens[-1:]]
        ends += [self.gauge.points[-1][0]] if self.gauge else []
        return max(ends, default=0.0)


def shared_span(streams: Sequence[Stream]) -> tuple[float, float] | None:
    """Return from when to when every stream was between its first and its last token; None if at no time."""
    if len(streams) < 2 or not all(stream.tokens for stream in streams):
        return None
    begin, end = max(stream.tokens[0] for stream in streams), min(stream.tokens[-1] for stream in streams)
    return (begin, end) if begin < end else None


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
        latencies=tuple(_latencies(document)),
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


def _latencies(document: Mapping[str, Any]) -> Iterable[Series]:
    """Open-loop samples of an endpoint, under its path: ``[[intended_ns, asked_ns, answered_ns, status, error], ...]``.

    ``control`` is a source on the host that does nothing but answer, asked over the same path. Latency counts from the
    intended time; a status other than 2xx is no good answer. ``answer`` is the long request that was being read
    meanwhile.
    """
    reading = document.get("answer")
    for path, samples in document.items():
        rows = [row for row in _list(samples) if _is_sample(row)] if path == "control" or path.startswith("/") else []
        if not rows:
            continue
        origin = min(row[0] for row in rows)
        good = [row for row in rows if row[4] is None and _is_number(row[3]) and 200 <= row[3] < 300]
        yield Series(
            path,
            "ms",
            tuple(((row[0] - origin) / 1e9, (row[2] - row[0]) / 1e6) for row in good),
            tuple((row[0] - origin) / 1e9 for row in rows if row not in good),
            _reading_span(reading, origin),
        )


def _is_sample(row: object) -> bool:
    return isinstance(row, list) and len(row) == 5 and all(map(_is_number, row[:3]))


def _reading_span(answer: object, origin: int) -> tuple[float, float] | None:
    """From the long request to its first token: the time in which the prompt was read."""
    if not isinstance(answer, dict) or not _is_number(answer.get("sent_ns")):
        return None
    first = next((time for time in _list(answer.get("delta_ns")) if _is_number(time)), None)
    begin = (answer["sent_ns"] - origin) / 1e9
    return None if first is None else (begin, begin + first / 1e9)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
