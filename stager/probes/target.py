"""What a probe is pointed at: the server, its engine, what it claims, and where we stand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from stager.engines.base import Engine
from stager.models.evidence import Vantage


@dataclass(frozen=True, slots=True)
class Claims:
    """What the engine is configured to accept, as the playbook says; recorded, never believed."""

    slots: int | None = None
    context: int | None = None


class Mode(StrEnum):
    """How a calibration source emits its streams."""

    LOCK_STEP = "lock-step"  # all streams get their token at the same moment
    TIME_SLICED = "time-sliced"  # one stream after the other, evenly: no two share a moment


@dataclass(frozen=True, slots=True)
class MetronomeOrder:
    """A calibration source wanted on the host: its mode, step in ms, streams, and seconds until it ends itself."""

    mode: Mode
    step_ms: float
    streams: int
    seconds: float


#: Starts a calibration source on the candidate's host and gives its base URL, reached over the same path.
Metronome = Callable[[MetronomeOrder], AbstractAsyncContextManager[str]]


class Unseen(Exception):
    """A device could not be read, and why."""


#: Reads how busy the busiest of the candidate's devices is, in percent, or raises ``Unseen``.
DeviceBusy = Callable[[], Awaitable[int]]

#: Reads the bytes of device memory that the candidate's process tree holds, or raises ``Unseen``.
DeviceMemory = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Target:
    """One running engine, as a probe sees it.

    Attributes:
        base_url: where it is reached, without a trailing path.
        engine: its adapter.
        model: the model name to put into requests.
        claims: what the playbook says it accepts.
        client: whether this process runs on the controller or on the host.
        path: how it is reached.
        metronome: starts a calibration source over the same path; None when the path is direct and this
            machine is the host (the source is then a child process here).
        device_memory: reads the device memory the candidate holds; None where the host has no way to.
        device_busy: reads how busy the host's devices are; None where the host has no way to.
        facts: anything about the vantage that belongs into its ``calibration`` part.
    """

    base_url: str
    engine: Engine
    model: str
    claims: Claims = Claims()
    client: Literal["controller", "host"] = "controller"
    path: Literal["direct", "ssh-forward"] = "direct"
    metronome: Metronome | None = None
    device_memory: DeviceMemory | None = None
    device_busy: DeviceBusy | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def vantage(
        self,
        *,
        path_latency_ms: float | None = None,
        client_jitter_ms: float | None = None,
        calibration: Mapping[str, Any] | None = None,
    ) -> Vantage:
        """Where the client stood, with what a calibration found (None: not measured)."""
        return Vantage(
            client=self.client,
            path=self.path,
            path_latency_ms=path_latency_ms,
            client_jitter_ms=client_jitter_ms,
            calibration={**self.facts, **(calibration or {})},
        )
