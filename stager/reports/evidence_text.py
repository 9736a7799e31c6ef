"""The evidence store for people: a list, one document in full, the outcome of a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stager.models.claimed import AttachedAudit
from stager.models.context_facts import ContextFacts
from stager.models.exhibit import Exhibit, Unreadable
from stager.models.words import ago, short
from stager.reports.claimed_text import claimed_text
from stager.reports.figures import size
from stager.reports.table import block, verdict_text
from stager.reports.visible import visible


def exhibit_list(exhibits: Sequence[Exhibit], now: datetime) -> RenderableType:
    """Return one line for each attempt."""
    if not exhibits:
        return Text("No evidence here yet.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    faulty = any(item.faults for item in exhibits)  # a narrow terminal has no room for an empty column
    for column in ("digest", "build", "claim", "#", "verdict", "n", "run", "when", *(["fault"] if faulty else [])):
        # One attempt a line, to be searched and copied; only what is said of a fault may need more.
        right, whole = column in {"#", "n"}, column != "fault"
        table.add_column(column, overflow="fold", justify="right" if right else "left", no_wrap=whole)
    for item in exhibits:
        evidence = item.evidence
        table.add_row(
            item.sha256[:8],
            evidence.build_id[:8],
            visible(item.name),
            str(evidence.attempt),
            verdict_text(evidence.verdict),
            str(evidence.sample_count),
            visible(evidence.run_id),
            ago(evidence.ended_at, now),
            *([visible("; ".join(item.faults), "red")] if faulty else []),
        )
    return table


def exhibit_text(exhibit: Exhibit, claimed: Sequence[AttachedAudit] = ()) -> RenderableType:
    """Return one document in full: the five columns, whose it is and where it was taken, what its source claims."""
    evidence = exhibit.evidence
    vantage = evidence.vantage
    latency = "not measured" if vantage.path_latency_ms is None else f"{vantage.path_latency_ms:g} ms"
    jitter = "not measured" if vantage.client_jitter_ms is None else f"{vantage.client_jitter_ms:g} ms"
    facts = {
        "document": exhibit.sha256,
        "raw samples": f"{evidence.raw.file} ({short(evidence.raw.sha256)})",
        "build": evidence.build_id,
        "run": f"{evidence.run_id}, launch {evidence.launch or 'not recorded'}, attempt {evidence.attempt}",
        "host": ", ".join(part for part in (evidence.host.address, evidence.host.kernel, evidence.host.driver) if part),
        "vantage": f"{vantage.client}, {vantage.path}, path latency {latency}, client jitter {jitter}",
        "suite": f"{short(evidence.suite_digest)}, {evidence.probe} version {evidence.probe_version}",
        "parameters": ", ".join(f"{name} = {value}" for name, value in evidence.parameters.items()) or "none",
        "taken": f"{evidence.started_at.isoformat()} to {evidence.ended_at.isoformat()}",
    }
    if evidence.context:
        facts["context"] = context_words(evidence.context)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, visible(value))
    faults = [visible(f"fault: {fault}", "bold red") for fault in exhibit.faults]
    whose = Padding(grid, (0, 0, 1 if claimed else 0, 2))
    return Group(block(evidence, everything=True), whose, *faults, claimed_text(claimed))


def context_words(facts: ContextFacts) -> str:
    """Return what was claimed of the cache and of which card, in a line."""
    stored = facts.keys.name if facts.keys == facts.values else f"{facts.keys.name}/{facts.values.name}"
    card = f"{size(facts.memory)} ({facts.memory_from})" if facts.memory is not None else "a card that is not known"
    beside = f", {size(facts.weights)} of weights" if facts.weights is not None else ""
    each = f"{facts.context or facts.window:,} tokens"
    return f"claims {facts.slots or 1} x {each} in {stored}{' (assumed)' if facts.assumed else ''} on {card}{beside}"


def trouble_lines(troubles: Iterable[Unreadable]) -> list[str]:
    """Return one line for each place that cannot be relied on."""
    return [f"unreliable: {it.name} of build {short(it.build_id)}: {it.file}: {it.why}" for it in troubles]


def verified_text(
    exhibits: Sequence[Exhibit],
    faulty: Sequence[Exhibit],
    troubles: Sequence[Unreadable],
    signed: Sequence[Mapping[str, Any]],
) -> RenderableType:
    """Return what a check found: how many documents hold, which do not, who signed what and when."""
    every = len(exhibits) + len(troubles)
    if not every:
        return Text("There is no evidence here: nothing was checked, so nothing holds.")
    lines = [Text(f"{len(exhibits) - len(faulty)} of {every} documents hold, raw samples included.")]
    for item in faulty:
        lines += [visible(f"{item.name} attempt {item.evidence.attempt}: {fault}", "red") for fault in item.faults]
    for statement in signed:
        covers = f", {len(statement['documents'])} documents" if statement["documents"] else ""
        lines.append(
            visible(
                f"signed by {statement['principals']} ({statement['fingerprint']})"
                f"{' at ' + statement['made_at'] if statement['made_at'] else ''}: {statement['file'].name}, "
                f"build {short(statement['build_id'])}{covers}"
            )
        )
    return Group(*lines)
