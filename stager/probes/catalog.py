"""All probes by name, and the digest that says which suite of them a piece of evidence came from."""

from __future__ import annotations

from functools import cache
from typing import Any

from stager.models.base import digest
from stager.probes.base import Probe
from stager.probes.cancel import CancelProbe
from stager.probes.crosstalk import CrosstalkProbe
from stager.probes.finish import FinishProbe
from stager.probes.function import FunctionProbe
from stager.probes.health import HealthProbe
from stager.probes.memory import MemoryProbe
from stager.probes.needle import NeedleProbe
from stager.probes.overlap import OverlapProbe
from stager.probes.soak import SoakProbe
from stager.probes.truncation import TruncationProbe
from stager.probes.truth import TruthProbe
from stager.probes.windows import WindowsProbe

_ALL: tuple[Probe[Any], ...] = (
    OverlapProbe(),
    FunctionProbe(),
    CancelProbe(),
    HealthProbe(),
    TruthProbe(),
    NeedleProbe(),
    TruncationProbe(),
    WindowsProbe(),
    FinishProbe(),
    CrosstalkProbe(),
    MemoryProbe(),
    SoakProbe(),
)

PROBES: dict[str, Probe[Any]] = {probe.name: probe for probe in _ALL}

#: The claims each probe answers: what a policy may ask for.
CLAIMS: dict[str, tuple[str, ...]] = {probe.name: tuple(probe.claims) for probe in _ALL}


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
