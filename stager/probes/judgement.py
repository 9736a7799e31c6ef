"""Gathers reasons while a claim is judged; the verdict follows from which kinds there are."""

from __future__ import annotations

from dataclasses import dataclass, field

from stager.models.evidence import Measurement, Verdict


@dataclass(slots=True)
class Judgement:
    """Measurements and reasons of one claim. What refutes outranks what only hinders."""

    measurements: dict[str, Measurement] = field(default_factory=dict)
    refuted: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    hindered: list[str] = field(default_factory=list)
    supported: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def measure(self, name: str, value: float | int | bool | str | None, unit: str, digits: int = 4) -> None:
        """Record one number with its unit."""
        kept = round(value, digits) if isinstance(value, float) else value
        self.measurements[name] = Measurement(value=kept, unit=unit)

    def refute(self, reason: str) -> None:
        """Something shows that the claim is false."""
        self.refuted.append(reason)

    def breaks(self, reason: str) -> None:
        """The experiment itself could not be made: the server broke a bound or the protocol."""
        self.broken.append(reason)

    def hinder(self, reason: str) -> None:
        """Something keeps this experiment from an answer."""
        self.hindered.append(reason)

    def support(self, reason: str) -> None:
        """Something shows that the claim is true."""
        self.supported.append(reason)

    def not_proven(self, sentence: str) -> None:
        """Something this experiment does not show."""
        self.limits.append(sentence)

    @property
    def verdict(self) -> Verdict:
        """Failed if anything refutes, error if it could not be made, inconclusive if hindered or unsupported."""
        if self.refuted:
            return Verdict.FAILED
        if self.broken:
            return Verdict.ERROR
        if self.hindered or not self.supported:
            return Verdict.INCONCLUSIVE
        return Verdict.PASSED

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons, the weightiest first."""
        found = (*self.refuted, *self.broken, *self.hindered, *self.supported)
        return found or ("nothing was seen that speaks for or against it",)
