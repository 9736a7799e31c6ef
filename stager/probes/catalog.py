"""All probes by name, and the digest that says which suite of them a piece of evidence came from."""

from __future__ import annotations

from functools import cache
from typing import Any

from stager.models.base import digest
from stager.probes.base import Probe
from stager.probes.finish import FinishProbe
from stager.probes.function import FunctionProbe
from stager.probes.overlap import OverlapProbe
from stager.probes.truth import TruthProbe

_ALL: tuple[Probe[Any], ...] = (
    OverlapProbe(),
    FunctionProbe(),
    FinishProbe(),
    TruthProbe(),
)

PROBES: dict[str, Probe[Any]] = {probe.name: probe for probe in _ALL}


@cache
def suite_digest() -> str:
    """The SHA-256 of every probe's name, version, claims and thresholds.

    Two suites with the same digest do the same and judge the same; the bytes of the package do not matter.
    """
    return digest(
        [
            {
                "name": probe.name,
                "version": probe.version,
                "claims": list(probe.claims),
                "thresholds": {key: repr(value) for key, value in probe.thresholds.items()},
            }
            for _, probe in sorted(PROBES.items())
        ]
    )
