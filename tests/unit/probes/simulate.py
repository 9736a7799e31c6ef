"""Arrival times of streams under servers that behave in known ways (ns). Seeds make every run the same."""

from __future__ import annotations

import random

MS = 1_000_000


def _jittered(times: list[float], jitter_ms: float, source: random.Random) -> tuple[int, ...]:
    return tuple(sorted(round((at + abs(source.gauss(0, jitter_ms))) * MS) for at in times))


def batched(streams: int, tokens: int, step_ms: float, jitter_ms: float, seed: int = 0) -> list[tuple[int, ...]]:
    """Every step advances all streams."""
    source = random.Random(seed)
    now, beats = 0.0, []
    for _ in range(tokens):
        now += step_ms * source.gauss(1, 0.08)
        beats.append(now)
    return [_jittered(beats, jitter_ms, source) for _ in range(streams)]


def sliced(streams: int, tokens: int, step_ms: float, jitter_ms: float, seed: int = 0) -> list[tuple[int, ...]]:
    """Every step advances one stream, in turn."""
    source = random.Random(seed)
    now, times = 0.0, [[] for _ in range(streams)]
    for _ in range(tokens):
        for stream in range(streams):
            now += step_ms * source.gauss(1, 0.08)
            times[stream].append(now)
    return [_jittered(one, jitter_ms, source) for one in times]


def serial(streams: int, tokens: int, step_ms: float, jitter_ms: float, seed: int = 0) -> list[tuple[int, ...]]:
    """One stream after the other."""
    source = random.Random(seed)
    now, found = 0.0, []
    for _ in range(streams):
        times = []
        now += step_ms * 3  # a prefill
        for _ in range(tokens):
            now += step_ms * source.gauss(1, 0.08)
            times.append(now)
        found.append(_jittered(times, jitter_ms, source))
    return found


def independent(streams: int, tokens: int, step_ms: float, jitter_ms: float, seed: int = 0) -> list[tuple[int, ...]]:
    """Separate engines of the same pace."""
    source = random.Random(seed)
    found = []
    for _ in range(streams):
        now, times = source.uniform(0, step_ms), []
        for _ in range(tokens):
            now += step_ms * source.gauss(1, 0.08)
            times.append(now)
        found.append(_jittered(times, jitter_ms, source))
    return found


def flushed(streams: int, tokens: int, step_ms: float, jitter_ms: float, seed: int = 0) -> list[tuple[int, ...]]:
    """Silence, then all text at once."""
    source = random.Random(seed)
    end = tokens * step_ms
    return [_jittered([end + token * 0.005 for token in range(tokens)], 0.0, source) for _ in range(streams)]
