"""A whole run: stage, verify, cleanup. Cleanup always happens, and a record of everything is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.errors import RESTORED, CandidateFailed, ConnectionLost, GateRefused, NotShown, StagerError, gravest
from stager.evidence.asking import ask_gate
from stager.evidence.policies import load_policy
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.loading import LoadedPlaybook
from stager.models.answer import GateAnswer
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, HostFacts
from stager.models.policy import Policy
from stager.models.record import RunRecord
from stager.probes.catalog import CLAIMS, suite_digest
from stager.run.baseline import Hearer, Measured, kept, measure_production
from stager.run.blame import as_ours, told_with_host
from stager.run.copies import keep_files, placed_manifest
from stager.run.secrets import secrets_of
from stager.run.subject import subject_of, wanted_probes
from stager.run.verify import unproven, verify
from stager.staging.cleanup import Ended, collect, restore
from stager.staging.patience import undisturbed
from stager.staging.session import Session, open_session, quiet
from stager.staging.stage import Staged, StageFailed, Staging


@dataclass
class Outcome:
    """What a run came to, step by step."""

    playbook: str
    started_at: datetime
    run_id: str = ""
    build_id: str | None = None
    host: HostFacts | None = None
    context: ContextFacts | None = None
    evidence: list[Evidence] = field(default_factory=list)
    measured: Measured = field(default_factory=list)
    gate: GateAnswer | None = None
    ended: Ended | None = None
    errors: list[StagerError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_at: datetime | None = None

    @property
    def code(self) -> int:
        """The gravest of all that happened."""
        return gravest([error.code for error in self.errors])

    @property
    def error(self) -> StagerError | None:
        """The error of that code."""
        return next((error for error in self.errors if error.code == self.code), None)


class Run:
    """One whole run of one playbook.

    Args:
        loaded: the playbook.
        home: ``$STAGER_HOME``.
        clock: for the record's times.
        listen: told of every step.
        told: told of every probe and every piece of evidence.
        run_id: the run's name, where somebody must know it before the host does.
        admit: asked with the playbook right before staging; returns it as it may be staged now, or raises `Refused`.
    """

    def __init__(
        self,
        loaded: LoadedPlaybook,
        home: Path,
        clock: Clock,
        listen: Any = quiet,  # noqa: ANN401 -- Listener
        told: Hearer = lambda probe, finding: None,
        *,
        run_id: str | None = None,
        admit: Callable[[LoadedPlaybook], LoadedPlaybook] = lambda loaded: loaded,
    ) -> None:
        self.loaded = loaded
        self.run_id = run_id
        self.admit = admit
        self.home = home
        self.clock = clock
        self.listen = listen
        self.told = told
        self.store = Store(home)
        self.staged = False
        self.outcome = Outcome(loaded.playbook.name, clock.now())

    def carry_out(self, *, baseline: Sequence[str] = ()) -> tuple[Outcome, RunRecord | None]:
        """Stage, verify, clean up.

        Args:
            baseline: probes to run on production first, while it still serves.

        Raises:
            InvalidFile: a probe that does not exist, a secret that is not set; nothing was connected to.
            Unreachable: no connection.
        """
        secrets, probes = secrets_of(self.loaded.playbook), wanted_probes(self.loaded.playbook)
        policy = load_policy(self.loaded.policy, CLAIMS) if self.loaded.policy else None
        with open_session(self.loaded.playbook.host, self.listen) as session:
            try:
                self.outcome.measured = measure_production(session, self.loaded, baseline, self.told)
                staged = self._stage(session, secrets)
                self.staged = staged is not None
                if staged:
                    self._verify(session, staged, probes)
            except BaseException as error:  # noqa: BLE001 -- whatever it is, cleanup comes first
                self.outcome.errors.append(as_ours(error))
            with undisturbed():
                self._cleanup(session)
            self.outcome.ended_at = self.clock.now()
        self._judge(policy)
        record = self._record(session)
        if record:
            Records(self.home).save(record)
            keep_files(self.home, record.run_id, {"playbook.yaml": self.loaded.text})
        return self.outcome, record

    def _record(self, session: Session) -> RunRecord | None:
        """What is kept of it; nothing where no run was opened."""
        outcome = self.outcome
        if not outcome.run_id or not outcome.host:
            return None
        port = (self.loaded.playbook.production.ports or (0,))[0]
        return RunRecord(
            run_id=outcome.run_id,
            build_id=outcome.build_id,
            host=outcome.host,
            playbook=outcome.playbook,
            started_at=outcome.started_at,
            ended_at=outcome.ended_at,
            steps=tuple(session.steps),
            evidence=tuple(outcome.evidence),
            cleanup=outcome.ended.cleanup if outcome.ended else None,
            exit_code=outcome.code,
            baseline=kept(self.home, outcome.run_id, port, outcome.measured),
            gate=outcome.gate,
            context=outcome.context,
            notes=tuple(outcome.notes),
        )

    def _stage(self, session: Session, secrets: Mapping[str, str]) -> Staged | None:
        try:
            now = self.clock.now()
            staging = Staging(self.admit(self.loaded), session, now, run_id=self.run_id, begun=self._begun)
            staged = staging.stage(secrets)
        except StageFailed as failure:
            self.outcome.run_id, self.outcome.build_id, self.outcome.host = (
                failure.run_id,
                failure.build_id,
                failure.host,
            )
            self.outcome.ended = failure.ended
            self.outcome.errors.append(told_with_host(as_ours(failure.error), failure.ended, session.host.address))
            self._note_end(session, failure.ended)
            if failure.ended:
                with contextlib.suppress(StagerError):  # the journal stays on the host in any case
                    self._keep_journal(session)
            return None
        self.outcome.run_id, self.outcome.build_id, self.outcome.host = (
            staged.run_id,
            staged.build.build_id,
            staged.host,
        )
        self.outcome.context = staged.context
        return staged

    def _begun(self, staging: Staging) -> None:
        """Keep what finds the run again, should this process not live to its end."""
        self.outcome.run_id, self.outcome.host = staging.run_id, staging.host
        record = self._record(staging.session)
        assert record is not None
        Records(self.home).save(record.model_copy(update={"exit_code": None, "ended_at": None}))
        keep_files(self.home, staging.run_id, {"playbook.yaml": self.loaded.text})

    def _verify(self, session: Session, staged: Staged, probes: Mapping[str, Mapping[str, Any]]) -> None:
        subject = subject_of(self.loaded.playbook, staged)
        verify(session, subject, probes, self.store, self._keep)
        if missing := unproven(self.outcome.evidence):
            self.outcome.errors.append(NotShown("\n".join(missing), next=f"stager report {staged.run_id}"))

    def _keep(self, probe: str, evidence: Evidence | None) -> None:
        if evidence is not None:
            self.outcome.evidence.append(evidence)
        self.told(probe, evidence)

    def _judge(self, policy: Policy | None) -> None:
        """Ask the gate, where the playbook names a policy: after cleanup, when all is known that may taint evidence."""
        build_id = self.outcome.build_id
        if not policy or not build_id or not self.outcome.evidence:
            return
        try:
            answer, _ = ask_gate(self.store, build_id, policy, suite=suite_digest(), now=self.clock.now())
        except StagerError as error:  # what checks the signatures is not installed: the run is told all the same
            self.outcome.errors.append(error)
            return
        self.outcome.gate = answer
        if answer.verdict != "promote":
            again = f"stager gate {build_id[:12]} --policy {self.loaded.policy}"
            self.outcome.errors.append(GateRefused("\n".join(answer.reasons), host_state=RESTORED, next=again))

    def _cleanup(self, session: Session) -> None:
        if not self.staged or any(isinstance(error, ConnectionLost) for error in self.outcome.errors):
            return  # what broke off while staging is put back already, as far as it can be from here
        try:
            with session.step("cleanup", changed=True):
                self.outcome.ended = restore(session, self.outcome.run_id, "run over")
            self._note_end(session, self.outcome.ended)
            self._keep_journal(session)
        except BaseException as error:  # noqa: BLE001 -- what we know of the host must still be told
            self.outcome.errors.append(as_ours(error))

    def _note_end(self, session: Session, ended: Ended | None) -> None:
        for broken_off in self.outcome.errors:
            if isinstance(broken_off, CandidateFailed):  # it was told while the restore was still under way
                told_with_host(broken_off, ended, session.host.address)
        error = ended.error(session.host.address) if ended else None
        if error:
            self.outcome.errors.append(error)

    def _keep_journal(self, session: Session) -> None:
        """Keep the host's journal beside the record, and taint evidence of a tree that changed while it ran."""
        run_id, build_id = self.outcome.run_id, self.outcome.build_id
        kept = collect(session, run_id)
        keep_files(self.home, run_id, {"journal.jsonl": kept.journal, "output.log": kept.output})
        placed = placed_manifest(kept.journal)
        if build_id and placed and kept.manifest_sha256 and placed != kept.manifest_sha256:
            why = "the release's files on the host changed while the candidate ran"
            self.store.taint(build_id, run_id, why)
            self.outcome.notes.append(f"evidence is tainted: {why}")
        if not kept.chain_is_whole:
            self.outcome.notes.append("the host's journal has been changed: its chain of digests is broken")
