"""Promote and roll back: gate, switch, proof on production's own port, confirmation.

Anything short of the confirmation goes back by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.errors import CandidateFailed, GateRefused, InvalidFile, NotShown, Refused, UsageError
from stager.evidence.asking import ask_gate
from stager.evidence.lookup import resolve_build
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.loading import LoadedPlaybook
from stager.models.answer import GateAnswer
from stager.models.evidence import Evidence
from stager.models.policy import Policy
from stager.models.promotion import Promotion
from stager.probes.catalog import suite_digest
from stager.promotion.items import items_of, paths_of
from stager.promotion.measured import measure_production
from stager.promotion.records import keep_record
from stager.promotion.shortfall import shortfall
from stager.run.blame import as_ours
from stager.run.verify import Told
from stager.staging.cleanup import Ended, ended_from
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
            needed = {
                "promotion (what is switched)": playbook.promotion,
                "production/healthy (how it is seen to work)": playbook.production.healthy,
            }
            missing = " and ".join(key for key, given in needed.items() if given is None)
            raise InvalidFile(f"{loaded.path}: {missing} must be given for a promotion.")
        self.promotion: Promotion = playbook.promotion
        self.loaded = loaded
        self.home = home
        self.store = Store(home)
        self.clock = clock
        self.listen = listen
        self.told = told

    def promote(self, build: str, policy: Policy) -> Promoted:
        """Ask the gate, then switch production to a build.

        Raises:
            UsageError: no build that was ever staged here begins so, or several do.
            GateRefused: it has no evidence, or the gate says no, with every reason; nothing was touched.
            StageFailed: it did not hold; production is back on what it ran before.
        """
        build_id = self._build(build, policy)
        if self.loaded.release is None:
            raise InvalidFile("candidate/release must be given: a promotion switches production to a release's folder.")
        with open_session(self.loaded.playbook.host, self.listen) as session:
            current = self._current(session)
            answer = self._ask(build_id, policy, current)
            staging = Staging(self.loaded, session, self.clock.now())
            staging.spec["candidate"]["port"] = 0  # none is launched: whoever uses its port is no hindrance
            return _Attempt(self, staging, build_id, current, answer).promote(policy)

    def rollback(self) -> Promoted:
        """Switch production back to what the newest promotion replaced.

        Raises:
            UsageError: stager promoted nothing here.
            Refused: what was promoted has been changed since.
            StageFailed: it did not hold; production is back on what it ran before.
        """
        with open_session(self.loaded.playbook.host, self.listen) as session:
            told = session.call("promoted", "production", paths=paths_of(self.promotion))
            current = told["record"]
            if not current:
                raise UsageError(
                    f"Nothing was promoted by stager under {', '.join(paths_of(self.promotion))} on this host; there "
                    "is no way back."
                )
            if told["changed"]:
                raise Refused(
                    f"{path} is not what was promoted (run {current['run_id']}): another hand changed it since, and a "
                    "rollback would undo that."
                    for path in told["changed"]
                )
            staging = Staging(self.loaded, session, self.clock.now(), with_release=False)
            staging.spec["candidate"] = None
            return _Attempt(self, staging, (current["previous"] or {}).get("build_id", UNKNOWN), current).roll_back()

    def _build(self, build: str, policy: Policy) -> str:
        """The build that is meant; one that was only ever staged is told from one that nobody knows."""
        shown = self.store.builds()
        build_id = resolve_build(build, [*shown, *Records(self.home).builds()])
        if build_id not in shown:
            answer, _ = ask_gate(self.store, build_id, policy, suite=suite_digest(), now=self.clock.now())
            raise GateRefused(
                f"Build {build_id[:12]} has no evidence here: nothing was shown of it. Stage and verify it first.",
                next=f"stager run {self.loaded.path}",
                gate=answer.document(),
            )
        return build_id

    def _current(self, session: Session) -> dict[str, Any] | None:
        """What stager put into production here, if that is still what stands there."""
        told = session.call("promoted", "production", paths=paths_of(self.promotion))
        record: dict[str, Any] | None = None if told["changed"] else told["record"]
        return record

    def _ask(self, build_id: str, policy: Policy, current: dict[str, Any] | None) -> GateAnswer:
        incumbent = current["build_id"] if current else None
        now = self.clock.now()
        answer, _ = ask_gate(self.store, build_id, policy, suite=suite_digest(), now=now, incumbent=incumbent)
        if answer.verdict != "promote":
            reasons = "\n".join(answer.reasons)
            raise GateRefused(reasons, next=f"stager gate {build_id[:12]}", gate=answer.document())
        return answer


class _Attempt:
    """One switch under way; whatever breaks it off, production comes first."""

    def __init__(
        self,
        switch: Switch,
        staging: Staging,
        build_id: str,
        current: dict[str, Any] | None,
        answer: GateAnswer | None = None,
    ) -> None:
        self.switch = switch
        self.staging = staging
        self.session = staging.session
        self.build_id = build_id
        self.current = current
        self.answer = answer
        self.evidence: list[Evidence] = []

    @property
    def known(self) -> str | None:
        """The build's name, where it has one."""
        return self.build_id if self.build_id != UNKNOWN else None

    def promote(self, policy: Policy) -> Promoted:
        """Make the build, see that it is the one that was asked for, and switch to it."""
        staging, loaded = self.staging, self.switch.loaded
        try:
            staging.open()
            placed = staging.prepare()
            if placed["build_id"] != self.build_id:
                raise UsageError(
                    f"This playbook makes build {placed['build_id'][:12]}, not {self.build_id[:12]}: what was shown is "
                    "not what would be promoted.",
                    next=f"stager run {loaded.path}",
                )
            wanted = items_of(self.switch.promotion, loaded.path.parent, staging.tree_folder)
            items = self._stock(wanted)
            staging.take_down(placed)
            return self._carry_out(items, placed["tree"], policy)
        except BaseException as error:  # whatever it is, production comes first
            raise self._failed(error) from error

    def roll_back(self) -> Promoted:
        """Switch to what stood there before the newest promotion; it was in production, and is not probed again."""
        assert self.current is not None
        previous = self.current["previous"] or {"build_id": UNKNOWN, "tree": ""}
        try:
            self.staging.open()
            items = self._stock(self.current["before"])
            self.staging.take_down(dict(previous))
            return self._carry_out(items, previous["tree"], None)
        except BaseException as error:
            raise self._failed(error) from error

    def _stock(self, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        with self.session.step("stock", changed=False):
            told = self.session.call("stock", "stock", run_id=self.staging.run_id, items=list(items))
        kept: list[dict[str, Any]] = told["items"]
        return kept

    def _carry_out(self, items: list[dict[str, Any]], tree: str, policy: Policy | None) -> Promoted:
        session, run_id, switch = self.session, self.staging.run_id, self.switch
        folder = f"{session.state}/trees/{tree}" if tree else ""
        with session.step("switch", changed=True):
            session.call("switch", "switch", run_id=run_id, items=items)
        with session.step("prove", changed=True):
            args = {"healthy_for": switch.promotion.healthy_for, "folder": folder}
            proven = session.call("prove", "prove", run_id=run_id, **args)
        if policy:
            self._measure(policy, str(proven["launch"]))
        current = self.current
        record = {
            "name": switch.loaded.playbook.name,
            "build_id": self.build_id,
            "tree": tree,
            "previous": {"build_id": current["build_id"], "tree": current["tree"]} if current else None,
        }
        with session.step("confirm", changed=True):
            verdict = session.call("confirm", "confirm", run_id=run_id, token=proven["token"], **record)
        ended = ended_from(run_id, verdict)
        if ended.words != "promoted":
            raise CandidateFailed(f"The host did not end as promoted but: {ended.words}.", host_state=ended.words)
        self._keep(ended, f"promoted: production runs build {self.build_id[:12]}", ended.code)
        before, seconds = current["build_id"] if current else UNKNOWN, float(proven["downtime_seconds"])
        return Promoted(run_id, self.build_id, before, self.answer, tuple(self.evidence), ended, seconds)

    def _measure(self, policy: Policy, launch: str) -> None:
        assert self.staging.host is not None
        self.evidence += measure_production(
            self.session,
            self.switch.loaded.playbook,
            self.switch.promotion.probes,
            self.switch.store,
            self.switch.told,
            run_id=self.staging.run_id,
            build_id=self.build_id,
            launch=launch,
            host=self.staging.host,
            context=self.staging.context,
        )
        if missing := shortfall(self.evidence, policy):
            raise NotShown("On production's own port: " + "; ".join(missing))

    def _failed(self, error: BaseException) -> BaseException:
        failure = self.staging.failed(error)
        if failure.ended is not None:
            ours = as_ours(failure.error)
            self._keep(failure.ended, f"not promoted: {ours.message.splitlines()[0]}", ours.code)
        return failure

    def _keep(self, ended: Ended, note: str, code: int) -> None:
        keep_record(
            self.switch.home,
            self.staging,
            ended,
            now=self.switch.clock.now(),
            build_id=self.known,
            evidence=self.evidence,
            gate=self.answer,
            note=note,
            code=code,
        )
