"""What llama.cpp really allocated, read from its own log: the truth the formulas are held against.

The lines (``llama-kv-cache.cpp``, ``llama-memory-recurrent.cpp``; printed at log verbosity 4):
``llama_kv_cache: size = 95.62 MiB ( 2048 cells, 30 layers, 4/4 seqs), K (q8_0): 47.81 MiB, V (q8_0): 47.81 MiB`` and
``llama_memory_recurrent: size = 598.50 MiB ( 4 cells, 64 layers, 4 seqs), R (f32): …, S (f32): …``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"(?P<what>llama_kv_cache|llama_memory_recurrent)\w*: size =\s*(?P<mib>[\d.]+) MiB "
    r"\(\s*(?P<cells>\d+) cells,\s*(?P<layers>\d+) layers,\s*(?P<sequences>\d+)(?:/\s*(?P<streams>\d+))? seqs"
)


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocated cache: ``kv`` or ``recurrent``, its size in MiB as printed, and its cells in each stream."""

    what: str
    mib: float
    cells: int
    layers: int
    sequences: int
    streams: int


def allocations(log: str) -> list[Allocation]:
    """Return the caches the log names, in order; an empty list where it names none (verbosity too low)."""
    return [
        Allocation(
            what="kv" if match["what"] == "llama_kv_cache" else "recurrent",
            mib=float(match["mib"]),
            cells=int(match["cells"]),
            layers=int(match["layers"]),
            sequences=int(match["sequences"]),
            streams=int(match["streams"] or 1),
        )
        for match in _LINE.finditer(log)
    ]


def allocated_mib(log: str, what: str) -> float:
    """Return the MiB allocated for ``kv`` or ``recurrent``, all caches of that kind together."""
    return sum(item.mib for item in allocations(log) if item.what == what)
