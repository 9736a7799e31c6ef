"""Two measurements of the same thing side by side, as data: production and candidate, or two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stager.models.evidence import Finding, Measurement
from stager.models.record import RunRecord
from stager.models.words import short
from stager.reports.figures import ended_because, figure, label
from stager.reports.headlines import HEADLINES

Key = tuple[str, str]


@dataclass(frozen=True)
class Row:
    """One line of a comparison; ``change`` is the relative difference in words, where both are numbers."""

    claim: str
    what: str
    left: str
    right: str
    change: str


@dataclass(frozen=True)
class Comparison:
    """Two columns with their names, and what keeps them from being one result."""

    left: str
    right: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]


def production_beside_candidate(record: RunRecord) -> Comparison:
    """Compare the same experiment on production and on the candidate of one run."""
    before = {(item.probe, item.finding.claim): item.finding for item in record.baseline}
    after = {key: finding for key, finding in findings(record).items() if key in before}
    services = ", ".join(sorted({item.service for item in record.baseline}))
    return Comparison(f"production ({services})", "candidate", tuple(_rows(before, after)), ())


def compare_runs(left: RunRecord, right: RunRecord) -> Comparison:
    """Compare two runs, and say plainly where they are not two measurements of one thing."""
    warnings = list(_nothing_to_compare(left, right))
    if left.build_id != right.build_id:
        builds = f"{short(left.build_id or 'unknown')} and {short(right.build_id or 'unknown')}"
        warnings.append(f"Two builds ({builds}): neither validates the other; no claim of one passes to the other.")
    if left.host.address != right.host.address:
        warnings.append(f"Two hosts: {left.host.address} and {right.host.address}.")
    if _gpus(left) != _gpus(right) or left.host.driver != right.host.driver:
        warnings.append("The hosts' GPUs or drivers differ.")
    ours, theirs = findings(left), findings(right)
    for probe, claim in sorted(set(ours) & set(theirs)):
        if ours[probe, claim].parameters != theirs[probe, claim].parameters:
            warnings.append(f"{probe}/{claim} was run with other parameters: its numbers answer two questions.")
    suites = {item.suite_digest for record in (left, right) for item in record.evidence}
    if len(suites) > 1:
        warnings.append("The probe suites differ; a number may have been measured in another way.")
    return Comparison(left.run_id, right.run_id, tuple(_rows(ours, theirs)), tuple(warnings))


def _nothing_to_compare(left: RunRecord, right: RunRecord) -> Iterable[str]:
    if left.run_id == right.run_id:
        yield f"Both are run {left.run_id}: it is compared with itself, so nothing can differ."
    empty = list(dict.fromkeys(record.run_id for record in (left, right) if not record.evidence))
    if left.evidence or right.evidence:
        yield from (f"Run {run_id} has no evidence: there is nothing of it to compare." for run_id in empty)
    else:
        yield f"There is nothing to compare: no evidence in run {' or '.join(empty)}."


def findings(record: RunRecord) -> dict[Key, Finding]:
    """Return the last attempt of each claim in a run."""
    return {(item.probe, item.claim): item for item in record.evidence}


def _rows(left: Mapping[Key, Finding], right: Mapping[Key, Finding]) -> Iterable[Row]:
    for key in dict.fromkeys((*left, *right)):
        claim, ours, theirs = "/".join(key), left.get(key), right.get(key)
        yield Row(claim, "verdict", _word(ours, "verdict"), _word(theirs, "verdict"), "")
        measured = {*_names(ours), *_names(theirs)}
        first = [name for name in HEADLINES.get(claim, ()) if name in measured]
        for name in (*first, *sorted(measured - {*first})):
            one, other = _measured(ours, name), _measured(theirs, name)
            yield Row(
                claim,
                label(name),
                figure(one, name) if one else "-",
                figure(other, name) if other else "-",
                _change(one, other),
            )
        yield Row(claim, "n", _word(ours, "sample_count"), _word(theirs, "sample_count"), "")
        yield Row(claim, "ended because", _ended(ours), _ended(theirs), "")


def _names(finding: Finding | None) -> Sequence[str]:
    return tuple(finding.measurements) if finding else ()


def _measured(finding: Finding | None, name: str) -> Measurement | None:
    return finding.measurements.get(name) if finding else None


def _word(finding: Finding | None, name: str) -> str:
    return str(getattr(finding, name)) if finding else "not run"


def _ended(finding: Finding | None) -> str:
    return ended_because(finding) if finding else "not run"


def _change(one: Measurement | None, other: Measurement | None) -> str:
    if one is None or other is None or one.unit != other.unit:
        return ""
    before, after = one.value, other.value
    if isinstance(before, bool) or isinstance(after, bool):
        return ""
    if not isinstance(before, int | float) or not isinstance(after, int | float) or before == after:
        return ""
    if before == 0:
        return ""
    ratio = after / before
    return f"x {ratio:.3g}" if ratio >= 2 or ratio <= 0.5 else f"{(ratio - 1) * 100:+.1f} %"


def _gpus(record: RunRecord) -> list[str]:
    return sorted(str(gpu.get("name", "")) for gpu in record.host.gpus)
