"""Promote and roll back: gate, switch, proof on production's own port, confirmation.

Anything short of the confirmation goes back by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.errors import CandidateFailed, GateRefused, InvalidFile, NotShown, UsageError
from stager.evidence.asking import ask_gate
from stager.evidence.lookup import resolve_build
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.loading import LoadedPlaybook
from stager.models.answer import GateAnswer
from stager.models.evidence import Evidence
from stager.models.policy import Policy
from stager.models.promotion import Promotion
from stager.models.record import RunRecord
from stager.probes.catalog import suite_digest
from stager.probes.target import Claims, Target
from stager.promotion.items import items_of
from stager.run.copies import keep_files
from stager.run.verify import Subject, Told, keep, measure, metronome_of, unproven
from stager.staging.cleanup import Ended, collect, ended_from
from stager.staging.engine import engine_of
from stager.staging.session import Listener, Session, open_session
from stager.staging.stage import Staging

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Promoted:
    """How a promotion or rollback ended well."""

    run_id: str
    build_id: str
    before: str
    answer: GateAnswer | None
    evidence: tuple[Evidence, ...]
    ended: Ended
    downtime_seconds: float


class Switch:
    """One promotion or rollback of one playbook's production.

    Args:
        loaded: the playbook, with a ``promotion`` section and a health check.
        home: ``$STAGER_HOME``.
        clock: for times.
        listen: told of every step.
        told: told of probes on production's port.

    Raises:
        InvalidFile: the playbook does not say how production is switched or when it is healthy.
    """

    def __init__(self, loaded: LoadedPlaybook, home: Path, clock: Clock, listen: Listener, told: Told) -> None:
        playbook = loaded.playbook
        if playbook.promotion is None or playbook.production.healthy is None:
            raise InvalidFile(
                f"{loaded.path}: promotion and production/healthy must be given: what is switched, and how it is seen "
                "to work."
            )
        self.promotion: Promotion = playbook.promotion
        self.loaded = loaded
        self.home = home
        self.clock = clock
        self.listen = listen
        self.told = told

    def promote(self, build: str, policy: Policy) -> Promoted:
        """Ask the gate, then switch production to a build.

        Raises:
            GateRefused: with every reason; nothing was touched.
            StageFailed: it did not hold; production is back on what it ran before.
        """
        store = Store(self.home)
        build_id = resolve_build(build, store.builds())
        with open_session(self.loaded.playbook.host, self.listen) as session:
            current = self._current(session)
            answer, _ = ask_gate(
                store,
                build_id,
                policy,
                suite=suite_digest(),
                now=self.clock.now(),
                incumbent=current["build_id"] if current else None,
            )
            if answer.verdict != "promote":
                raise GateRefused(
                    "\n".join(answer.reasons), next=f"stager gate {build_id[:12]}", gate=answer.document()
                )
            staging = Staging(self.loaded, session, self.clock.now())
            if staging.release is None:
                raise InvalidFile(
                    "candidate/release must be given: a promotion switches production to a release's folder."
                )
            try:
                survey = staging.open()
                placed = staging.prepare()
                if placed["build_id"] != build_id:
                    raise UsageError(
                        f"This playbook makes build {placed['build_id'][:12]}, not {build_id[:12]}: what was shown is "
                        "not what would be promoted.",
                        next=f"stager run {self.loaded.path}",
                    )
                staging.take_down(survey, placed)
                items = items_of(self.promotion, self.loaded.path.parent, staging.tree_folder)
                previous = {"build_id": current["build_id"], "tree": current["tree"]} if current else None
                remember = {"build_id": build_id, "tree": placed["tree"], "previous": previous}
                return self._switch(session, staging, items, remember, answer, store)
            except BaseException as error:  # whatever it is, production comes first
                raise staging.failed(error) from error

    def rollback(self) -> Promoted:
        """Switch production back to what the newest promotion replaced.

        Raises:
            UsageError: stager promoted nothing here.
            StageFailed: it did not hold; production is back on what it ran before.
        """
        with open_session(self.loaded.playbook.host, self.listen) as session:
            current = self._current(session)
            if not current:
                raise UsageError(
                    f"Nothing was promoted under {self.loaded.playbook.name} on this host; there is no way back."
                )
            staging = Staging(self.loaded, session, self.clock.now(), with_release=False)
            staging.spec["candidate"] = None
            previous = current["previous"] or {"build_id": UNKNOWN, "tree": ""}
            try:
                survey = staging.open()
                staging.take_down(survey, {"build_id": previous["build_id"], "tree": previous["tree"]})
                remember = {
                    "build_id": previous["build_id"],
                    "tree": previous["tree"],
                    "previous": {"build_id": current["build_id"], "tree": current["tree"]},
                }
                return self._switch(session, staging, current["before"], remember, None, Store(self.home))
            except BaseException as error:
                raise staging.failed(error) from error

    def _current(self, session: Session) -> dict[str, Any] | None:
        told: dict[str, Any] | None = session.call("promoted", "production", name=self.loaded.playbook.name)
        return told

    def _switch(
        self,
        session: Session,
        staging: Staging,
        items: Sequence[Mapping[str, Any]],
        remember: dict[str, Any],
        answer: GateAnswer | None,
        store: Store,
    ) -> Promoted:
        run_id = staging.run_id
        folder = f"{session.state}/trees/{remember['tree']}" if remember["tree"] else ""
        with session.step("switch", changed=True):
            before = session.call("switch", "switch", run_id=run_id, items=list(items))["before"]
        with session.step("prove", changed=True):
            args = {"healthy_for": self.promotion.healthy_for, "folder": folder}
            proven = session.call("prove", "prove", run_id=run_id, **args)
        evidence = self._probe(session, staging, remember["build_id"], store) if answer else []
        if missing := unproven(evidence):
            raise NotShown("On production's own port: " + "; ".join(missing), host_state="restored")
        with session.step("confirm", changed=True):
            verdict = session.call(
                "confirm",
                "confirm",
                run_id=run_id,
                token=proven["token"],
                name=self.loaded.playbook.name,
                items=list(items),
                before=before,
                **remember,
            )
        ended = ended_from(run_id, verdict)
        if ended.words != "promoted":
            raise CandidateFailed(f"The host did not end as promoted but: {ended.words}.", host_state=ended.words)
        self._keep(session, staging, remember["build_id"], evidence, ended)
        previous = (remember["previous"] or {}).get("build_id", UNKNOWN)
        seconds = proven["downtime_seconds"]
        return Promoted(run_id, remember["build_id"], previous, answer, tuple(evidence), ended, seconds)

    def _probe(self, session: Session, staging: Staging, build_id: str, store: Store) -> list[Evidence]:
        """Run the section's probes on production's own port; what they find belongs to the build."""
        playbook = self.loaded.playbook
        assert staging.host is not None
        found: list[Evidence] = []
        for name, parameters in self.promotion.probes.items():
            with session.host.forward(playbook.production.ports[0]) as forward:
                target = Target(
                    base_url=forward.url,
                    engine=engine_of(playbook.candidate.engine),
                    model=playbook.candidate.model or "",
                    claims=Claims(slots=playbook.candidate.claims.slots, context=playbook.candidate.claims.context),
                    path=forward.path,
                    metronome=metronome_of(session, forward.path),
                )
                self.told(name, None)
                with session.step(f"probe {name} on production", changed=False):
                    results = asyncio.run(measure(session, target, name, parameters))
            subject = Subject(
                run_id=staging.run_id,
                build_id=build_id,
                launch="",
                host=staging.host,
                port=playbook.production.ports[0],
                engine=target.engine,
                model=target.model,
                claims=target.claims,
            )
            found += keep(subject, name, results, store, self.told)
        return found

    def _keep(
        self, session: Session, staging: Staging, build_id: str, evidence: Sequence[Evidence], ended: Ended
    ) -> None:
        assert staging.host is not None
        kept = collect(session, staging.run_id)
        record = RunRecord(
            run_id=staging.run_id,
            build_id=build_id if build_id != UNKNOWN else None,
            host=staging.host,
            playbook=self.loaded.playbook.name,
            started_at=staging.begun,
            ended_at=self.clock.now(),
            steps=tuple(session.steps),
            evidence=tuple(evidence),
            cleanup=ended.cleanup,
            exit_code=ended.code,
            notes=(f"{ended.words}: production runs build {build_id[:12]}",),
        )
        Records(self.home).save(record)
        files = {"journal.jsonl": kept.journal, "playbook.yaml": self.loaded.text}
        keep_files(self.home, staging.run_id, files)
