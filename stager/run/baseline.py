"""The same experiment on production while it still serves: what the candidate's numbers are held against."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from stager.evidence.records import Records
from stager.loading import LoadedPlaybook
from stager.models.evidence import Finding
from stager.models.record import Baseline
from stager.probes.base import ProbeResult
from stager.probes.target import Claims, Target
from stager.run.verify import measure, metronome_of
from stager.staging.engine import engine_of
from stager.staging.session import Session

#: What was found, each with its probe's name; it belongs to no build.
Measured = list[tuple[str, ProbeResult]]

#: Told of a probe as it begins (None), and of each of its findings.
Hearer = Callable[[str, Finding | None], None]


def measure_production(
    session: Session, loaded: LoadedPlaybook, names: Sequence[str], told: Hearer = lambda probe, finding: None
) -> Measured:
    """Run probes on production's first port, with the candidate's engine adapter and the playbook's parameters."""
    production, candidate = loaded.playbook.production, loaded.playbook.candidate
    if not names or not production.ports:
        return []
    found: Measured = []
    with session.host.forward(production.ports[0]) as forward:
        target = Target(
            base_url=forward.url,
            engine=engine_of(candidate.engine),
            model=(production.healthy.model if production.healthy else None) or candidate.model or "",
            claims=Claims(),
            path=forward.path,
            metronome=metronome_of(session, forward.path),
        )
        for name in names:
            told(name, None)
            with session.step(f"production: {name}", changed=False):
                results = asyncio.run(measure(session, target, name, loaded.playbook.probes.get(name, {})))
                for result in results:
                    told(name, result.finding)
            found += [(name, result) for result in results]
    return found


def kept(home: Path, run_id: str, port: int, measured: Measured) -> tuple[Baseline, ...]:
    """Return it for the record of a run, its raw samples kept beside that record."""
    records = Records(home)
    return tuple(
        Baseline(service=f"port {port}", probe=name, finding=result.finding, raw=records.keep_raw(run_id, result.raw))
        for name, result in measured
    )
