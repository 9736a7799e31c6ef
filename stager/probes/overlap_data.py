"""Everything the overlap experiment saw, as one frozen value: what the verdicts are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from stager.client.record import Completion
from stager.probes.arrivals import Timing, timing
from stager.probes.calibration import Calibration
from stager.probes.gauges import GaugeSamples
from stager.probes.steps import StepWindow


@dataclass(frozen=True, slots=True)
class Overflow:
    """A run with one request more than the claimed slots: did it wait, and was it served?"""

    slots: int
    completions: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class OverlapData:
    """The streams that ran at once, the single-stream controls around them, and all that was read meanwhile.

    ``idle_before`` / ``idle_after``: whether the gauge came to rest at zero; None where there is no gauge.
    ``expected_tokens``: what each stream was asked for, where the engine can be held to it (else None).
    """

    streams: int
    claimed_slots: int | None
    completions: tuple[Completion, ...]
    controls: tuple[Completion, ...]
    start_spread: float
    warmed: int
    expected_tokens: int | None
    gauge: GaugeSamples | None
    idle_before: bool | None
    idle_after: bool | None
    steps: StepWindow | None
    step_source: str
    overflow: Overflow | None
    calibration: Calibration | None
    calibration_fault: str

    @property
    def timing(self) -> Timing:
        """Arrival times of the streams that ran at once."""
        return timing(self.completions)

    @property
    def control_timing(self) -> Timing:
        """Arrival times of the single-stream controls."""
        return timing(self.controls)
