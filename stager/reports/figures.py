"""How one figure is written: a value with its unit, short enough for a table, never rounder than it was measured."""

from __future__ import annotations

from stager.models.evidence import Evidence, Finding, Measurement

#: Units that say nothing a reader does not see from the measurement's name.
_SILENT = {"count", "bool", "text", "word", "ratio", "requests", "tokens/step"}


def figure(measurement: Measurement, name: str = "") -> str:
    """Return a measurement as text: ``4``, ``1.75 s``, ``yes``, ``not measured``."""
    return "".join(parts(measurement, name))


def parts(measurement: Measurement, name: str = "") -> tuple[str, str]:
    """Return the value and, with a space before it, the unit; nothing for a unit that would say nothing new.

    Args:
        measurement: what to write.
        name: the measurement's name, which may hold the unit already.
    """
    found = measurement.value
    if measurement.unit == "bytes" and isinstance(found, int | float):
        number, name_of_unit = size(found).split(" ")
        return number, f" {name_of_unit}"
    silent = found is None or measurement.unit in _SILENT or measurement.unit in name.split("_")
    return value(found), "" if silent else f" {measurement.unit}"


def value(raw: float | int | bool | str | None) -> str:
    """Return a bare value as text; floats with four significant digits."""
    if raw is None:
        return "not measured"
    if isinstance(raw, bool):
        return "yes" if raw else "no"
    if isinstance(raw, float):
        return f"{raw:,.0f}" if abs(raw) >= 10_000 else f"{raw:.4g}"
    return f"{raw:,}" if isinstance(raw, int) and abs(raw) >= 10_000 else str(raw)


def size(amount: float) -> str:
    """Return an amount of memory in the largest unit it fills."""
    for name, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(amount) >= factor:
            return f"{amount / factor:.4g} {name}"
    return f"{amount:g} bytes"


def label(name: str) -> str:
    """Return a measurement's name as words."""
    return name.replace("_", " ")


def ended_because(finding: Finding) -> str:
    """Return why sampling ended, with the finish reasons of the streams counted: ``… (4 x length)``."""
    counts: dict[str, int] = {}
    for stream in finding.termination.streams:
        word = stream.error or stream.finish_reason or "no finish reason"
        counts[word] = counts.get(word, 0) + 1
    streams = ", ".join(f"{count} x {word}" for word, count in counts.items())
    return f"{finding.termination.reason} ({streams})" if streams else finding.termination.reason


def claim_name(evidence: Evidence) -> str:
    """Return ``probe/claim``, with the attempt from the second on."""
    again = f" (attempt {evidence.attempt})" if evidence.attempt > 1 else ""
    return f"{evidence.probe}/{evidence.claim}{again}"


def seconds(amount: float) -> str:
    """Return a time a step took."""
    if amount < 1:
        return f"{amount * 1000:.0f} ms"
    if amount < 120:
        return f"{amount:.1f} s"
    return f"{amount / 60:.1f} min"
