"""Runs one probe against a lab engine in a process of its own, with the settings the calibration uses."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from stager.lab.knobs import Knobs, Shape
from stager.lab.process import lab_process
from stager.models.evidence import Finding
from stager.probes.base import ProbeResult, run_probe
from stager.probes.calibrate_settings import SETTINGS, lab_target
from stager.probes.catalog import PROBES
from stager.probes.target import Claims, Target


def results(
    probe: str,
    knobs: Knobs | None = None,
    shape: Shape | None = None,
    target: dict[str, Any] | None = None,
    claims: Claims | None = None,
    **parameters: Any,
) -> tuple[ProbeResult, ...]:
    """The probe's results on the lab engine; ``target`` and ``claims`` replace what the lab says of itself."""
    setting = SETTINGS[probe]

    async def go() -> tuple[ProbeResult, ...]:
        async with lab_process() as lab:
            used = shape or setting.shape
            seen: Target = lab_target(await lab.start(used, knobs), used)
            seen = replace(seen, **(target or {}), **({"claims": claims} if claims else {}))
            wanted = PROBES[probe].parameters.model_validate({**setting.parameters, **parameters})
            return await run_probe(PROBES[probe], seen, wanted)

    return asyncio.run(go())


def finding(probe: str, *args: Any, **kwargs: Any) -> Finding:
    """The first finding of ``results``."""
    return results(probe, *args, **kwargs)[0].finding


def raw(result: ProbeResult) -> dict[str, Any]:
    """A result's raw samples."""
    return json.loads(result.raw)
