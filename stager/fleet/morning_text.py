"""The morning's answer in Markdown: each number beside what it sampled, why it ended, what it did not prove."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stager.fleet.morning import Claim, Line, Morning
from stager.models.words import short, span
from stager.reports.figures import ended_because, figure, label
from stager.reports.headlines import headlines

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")


def markdown(answer: Morning) -> str:
    """Return the whole summary."""
    lines = [f"# Runs from {answer.since:%Y-%m-%d %H:%M} to {answer.until:%Y-%m-%d %H:%M} UTC", ""]
    if not answer.lines and not answer.idle:
        lines += ["Nothing was run, and nothing should have been.", ""]
    for line in answer.lines:
        lines += [*_line(line), ""]
    if answer.idle:
        lines += ["## Nights without a run", ""]
        lines += [
            f"* {item.night}, {_escape(item.schedule)} on {_escape(item.host)}: {_escape(item.reason)}"
            for item in answer.idle
        ]
        lines.append("")
    return "\n".join(lines)


def _line(line: Line) -> Iterable[str]:
    build = f"build `{short(line.build_id)}`" if line.build_id else "no build was reached"
    yield f"## {_escape(line.host)}: {_escape(', '.join(line.playbooks))}, {build}"
    yield ""
    yield f"* production: {production(line)}"
    yield f"* runs: {', '.join(f'`{run.run_id}` ({ended(run.exit_code)})' for run in line.runs)}"
    for left in line.left:
        where = f" ({_escape(left.path)})" if left.path else ""
        yield f"* left for a person: {_escape(left.what)}{where}: {_escape(left.why)}"
    for title, claims in (("Shown", line.shown), ("Not shown", line.not_shown)):
        if claims:
            yield ""
            yield f"{title}:"
            yield ""
            for claim in claims:
                yield from _claim(claim)
    if not line.claims:
        yield "* nothing was looked at"


def _claim(claim: Claim) -> Iterable[str]:
    newest = claim.newest
    numbers = "; ".join(f"{label(name)} {figure(found)}" for name, found in headlines(newest).items())
    yield f"* **{_escape(claim.name)}**: {verdict(claim)}{f'; {_escape(numbers)}' if numbers else ''}"
    yield f"  * sampled: {_escape(newest.sampled)}, n = {newest.sample_count}"
    yield f"  * ended because: {_escape(ended_because(newest))}"
    if not claim.shown:
        yield from (f"  * because: {_escape(reason)}" for reason in newest.reasons)
    yield f"  * did not prove: {_escape('; '.join(newest.not_proven))}"


def verdict(claim: Claim) -> str:
    """Return the newest verdict, with the attempts where there were several."""
    if claim.attempts == 1:
        return str(claim.newest.verdict)
    return f"{claim.newest.verdict} ({claim.passed} of {claim.attempts} attempts passed, the newest counts)"


def production(line: Line) -> str:
    """Return how production was left, and how long it was down in all."""
    if line.as_before is None:
        return f"not known; ask with `stager status {line.host}`"
    if not line.as_before:
        return f"NOT as before; act now: `stager status {line.host}`"
    return f"as before, {span(line.downtime)} down" if line.downtime else "as before, never down"


def ended(code: int | None) -> str:
    """Return how a run ended."""
    return "end not known" if code is None else f"exit {code}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
