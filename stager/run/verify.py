"""Verifying: probes on a staged candidate, through the connection that carries the host's program; evidence kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stager.engines.base import Engine
from stager.errors import StagerError, Stopped
from stager.evidence.store import Provenance, Store
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, HostFacts, Verdict
from stager.probes.base import ProbeResult, run_probe
from stager.probes.catalog import PROBES, suite_digest
from stager.probes.target import Claims, Metronome, MetronomeOrder, Target
from stager.run.devices import reader
from stager.run.evidence_copies import send_copies
from stager.staging.session import Session

BEAT_S = 1.0

Told = Callable[[str, Evidence | None], None]


@dataclass(frozen=True)
class Subject:
    """What is verified: one launch of one build on one host."""

    run_id: str
    build_id: str
    launch: str
    host: HostFacts
    port: int
    engine: Engine
    model: str
    claims: Claims
    context: ContextFacts | None = None


def verify(
    session: Session,
    subject: Subject,
    probes: Mapping[str, Mapping[str, Any]],
    store: Store,
    told: Told = lambda probe, evidence: None,
) -> list[Evidence]:
    """Run probes one after the other and keep what each found.

    Args:
        session: the host, attached to the run: its lease is renewed from the same loop that runs the probes.
        subject: the candidate.
        probes: name to parameters, in order.
        store: where evidence goes, attempt by attempt, as soon as it is there.
        told: called with each probe's name as it begins, and with each piece of evidence.

    Raises:
        ConnectionLost: the link to the host broke.
        Fenced, CandidateFailed: the run was ended on the host. What was under way is kept as aborted.
    """
    with session.host.forward(subject.port) as forward:
        target = Target(
            base_url=forward.url,
            engine=subject.engine,
            model=subject.model,
            claims=subject.claims,
            client="controller",
            path=forward.path,
            metronome=metronome_of(session, forward.path),
            device_memory=reader(session, subject.run_id, "memory"),
            device_busy=reader(session, subject.run_id, "busy"),
        )
        return asyncio.run(_all(session, subject, target, probes, store, told))


async def measure(
    session: Session, target: Target, name: str, parameters: Mapping[str, Any]
) -> tuple[ProbeResult, ...]:
    """Run one probe while giving the host signs of life from this same loop.

    Raises:
        StagerError: the host is gone, or the run is over.
    """
    results, error = await attempt(session, target, name, parameters)
    if error is not None:
        raise error
    return results


async def attempt(
    session: Session, target: Target, name: str, parameters: Mapping[str, Any]
) -> tuple[tuple[ProbeResult, ...], BaseException | None]:
    """Run one probe as `measure` does, and return what broke it off beside what it found.

    What was broken off is ``aborted``: nothing that was measured on a candidate which the host had taken down by
    then, or that nobody waited for, says anything of the build.
    """
    probe = PROBES[name]
    work = asyncio.ensure_future(
        run_probe(probe, target, probe.parameters.model_validate(dict(parameters), strict=False))
    )
    try:
        while not work.done():
            await asyncio.wait({work}, timeout=BEAT_S)
            session.onhost.beat()
        session.onhost.ask_whether_ours()
        return work.result(), None
    except (StagerError, asyncio.CancelledError) as error:
        work.cancel()
        results: tuple[ProbeResult, ...] = ()
        with contextlib.suppress(asyncio.CancelledError, Stopped):  # before it had begun, or by the signal itself
            results = await work
        return tuple(aborted(result, error) for result in results), error


def aborted(result: ProbeResult, error: BaseException) -> ProbeResult:
    """The result as one that counts for nothing, with what broke it off as its first reason."""
    why = f"broken off: {(str(error).splitlines() or ['interrupted'])[0]}"
    changed = {"verdict": Verdict.ABORTED, "reasons": (why, *result.finding.reasons)}
    return replace(result, finding=result.finding.model_copy(update=changed))


async def _all(
    session: Session,
    subject: Subject,
    target: Target,
    probes: Mapping[str, Mapping[str, Any]],
    store: Store,
    told: Told,
) -> list[Evidence]:
    found: list[Evidence] = []
    for name, parameters in probes.items():
        told(name, None)
        with session.step(f"probe {name}", changed=False):
            results, error = await attempt(session, target, name, parameters)
            found += keep(subject, name, results, store, told)
            if error is not None:
                raise error
        if why := send_copies(session, store, subject.run_id):
            session.listen("copies", {"event": "no copies", "why": why})
    return found


def keep(
    subject: Subject, name: str, results: Sequence[ProbeResult], store: Store, told: Told = lambda probe, evidence: None
) -> list[Evidence]:
    """Put what a probe found into the store, as the next attempts at its claims."""
    found: list[Evidence] = []
    for result in results:
        evidence = store.add(result.finding, result.raw, _provenance(subject, name, result)).evidence
        found.append(evidence)
        told(name, evidence)
    return found


def _provenance(subject: Subject, name: str, result: ProbeResult) -> Provenance:
    return Provenance(
        probe=name,
        probe_version=PROBES[name].version,
        suite_digest=suite_digest(),
        build_id=subject.build_id,
        run_id=subject.run_id,
        launch=subject.launch,
        host=subject.host,
        vantage=result.vantage,
        context=subject.context,
    )


def metronome_of(session: Session, path: str) -> Metronome | None:
    """Calibration sources on the host, over the same connection as what is measured; None where the path is direct."""
    if path != "ssh-forward":
        return None

    @contextlib.asynccontextmanager
    async def start(order: MetronomeOrder) -> AsyncIterator[str]:
        args = {"mode": str(order.mode), "step_ms": order.step_ms, "streams": order.streams, "seconds": order.seconds}
        told = await asyncio.to_thread(session.onhost.call, "metronome", args)
        with session.host.forward(int(told["port"])) as forward:
            yield forward.url

    return start


def unproven(evidence: Sequence[Evidence]) -> list[str]:
    """Return a sentence for each piece of evidence that does not pass."""
    return [
        f"{item.probe}/{item.claim} {item.verdict}: {item.reasons[0]}"
        for item in evidence
        if item.verdict is not Verdict.PASSED
    ]
