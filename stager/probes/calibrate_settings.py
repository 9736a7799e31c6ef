"""How each probe is run against the lab: the engine's shape, and parameters small enough for two seconds a liar."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stager.client.connection import connect
from stager.engines.llamacpp import LLAMACPP
from stager.lab.knobs import Shape
from stager.probes.ask import NO_ANSWER
from stager.probes.target import Claims, DeviceMemory, Target, Unseen

#: The lab has llama.cpp's endpoints, and lets go of a request within one step.
LAB_ENGINE = replace(LLAMACPP, name="lab", read_in="stager.lab", cancel_grace=0.25)
_MEMORY_PATH = "/lab/memory"


@dataclass(frozen=True, slots=True)
class Setting:
    """The lab engine's shape for one probe, its parameters, and what liars are spared of them to save time."""

    shape: Shape = field(default_factory=Shape)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    for_liars: Mapping[str, Any] = field(default_factory=dict)
    liars_shape: Shape | None = None


SETTINGS: Mapping[str, Setting] = {
    "overlap": Setting(
        parameters={"streams": 4, "max_tokens": 96},
        for_liars={"max_tokens": 80, "overflow": False},
        liars_shape=Shape(step_s=0.002),
    ),
    "function": Setting(parameters={"streams": 4, "timeout": 5.0}),
    "cancel": Setting(
        parameters={"deadline": 0.3, "prompt_tokens": 6000, "races": 20, "timeout": 5.0},
        for_liars={
            "phases": ["decode"],
            "ways": ["close"],
            "unstreamed": False,
            "races": 12,
            "timeout": 0.8,
            "deadline": 0.15,
            "prompt_tokens": 4000,
        },
        liars_shape=Shape(step_s=0.0025, prefill_per_step=120),
    ),
    "health": Setting(
        shape=Shape(prefill_per_step=48),
        parameters={"prompt_tokens": 7600, "rate_hz": 50.0, "slowest_s": 0.5, "timeout": 10.0},
    ),
    "truth": Setting(parameters={"timeout": 1.5}),
    "needle": Setting(parameters={"timeout": 5.0}),
    "truncation": Setting(parameters={"timeout": 5.0}),
    "windows": Setting(
        shape=Shape(context=4096, prefill_per_step=512), parameters={"prompt_tokens": 2400, "timeout": 5.0}
    ),
    "finish": Setting(parameters={"timeout": 5.0}),
    "crosstalk": Setting(parameters={"timeout": 5.0, "rounds": 2}),
    "memory": Setting(parameters={"timeout": 5.0, "back_within": 0.4}),
    "soak": Setting(shape=Shape(step_s=0.003), parameters={"seconds": 1.5, "timeout": 5.0}, for_liars={"timeout": 0.5}),
}

#: What single liars are given instead: the phase of the matrix that their lie is about, and shorter waits.
FOR_LIE: Mapping[str, Mapping[str, Any]] = {
    "ghost-in-prefill": {"phases": ["prefill"]},
    "ghost-in-queue": {"phases": ["queued"]},
    "ghost-unless-streamed": {"streamed": False, "unstreamed": True},
    "cancel-kills-engine": {"timeout": 0.6},
}


def lab_target(url: str, shape: Shape) -> Target:
    """Return a lab engine as a probe sees it."""
    return Target(
        base_url=url,
        engine=LAB_ENGINE,
        model="lab",
        claims=Claims(slots=shape.slots, context=shape.context),
        client="host",
        device_memory=_memory_of(url),
    )


def _memory_of(url: str) -> DeviceMemory:
    async def read() -> int:
        try:
            async with connect(url) as connection:
                answer = await connection.get(_MEMORY_PATH, within=2.0)
            return int(json.loads(answer.body)["bytes"])
        except (*NO_ANSWER, ValueError, KeyError) as error:
            raise Unseen(f"{_MEMORY_PATH} does not tell") from error

    return read
