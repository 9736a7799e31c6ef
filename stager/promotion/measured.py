"""Probes on production's own port: what they find belongs to the build that was switched to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from stager.evidence.store import Store
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, HostFacts
from stager.models.playbook import Playbook
from stager.probes.target import Claims, Target
from stager.run.evidence_copies import send_copies
from stager.run.verify import Subject, Told, keep, measure, metronome_of
from stager.staging.engine import engine_of
from stager.staging.session import Session


def measure_production(
    session: Session,
    playbook: Playbook,
    probes: Mapping[str, Mapping[str, Any]],
    store: Store,
    told: Told,
    *,
    run_id: str,
    build_id: str,
    launch: str,
    host: HostFacts,
    context: ContextFacts | None = None,
) -> list[Evidence]:
    """Run probes through production's first port and keep what they find under the build.

    Args:
        session: the host, attached to the run.
        playbook: whose production it is; the engine is the candidate's, since that is what runs there now.
        probes: name to parameters, in order.
        store: where evidence goes.
        told: called with each probe's name as it begins, and with each piece of evidence.
        run_id: the promotion's run.
        build_id: what production runs on now.
        launch: the name of this one start of production.
        host: facts of the host.
        context: what the context arithmetic was done on.

    Raises:
        ConnectionLost: the link to the host broke; the host goes back.
    """
    if not probes:
        return []
    found: list[Evidence] = []
    candidate, port = playbook.candidate, playbook.production.ports[0]
    healthy = playbook.production.healthy
    subject = Subject(
        run_id=run_id,
        build_id=build_id,
        launch=launch,
        host=host,
        port=port,
        engine=engine_of(candidate.engine),
        model=(healthy.model if healthy else None) or candidate.model or "",
        claims=Claims(slots=candidate.claims.slots, context=candidate.claims.context),
        context=context,
    )
    with session.host.forward(port) as forward:
        target = Target(
            base_url=forward.url,
            engine=subject.engine,
            model=subject.model,
            claims=subject.claims,
            path=forward.path,
            metronome=metronome_of(session, forward.path),
        )
        for name, parameters in probes.items():
            told(name, None)
            with session.step(f"probe {name} on production", changed=False):
                results = asyncio.run(measure(session, target, name, parameters))
            found += keep(subject, name, results, store, told)
    send_copies(session, store, run_id)
    return found
