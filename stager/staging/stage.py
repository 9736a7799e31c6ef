"""Staging: from a playbook to a candidate that answers, with production down and the guard armed.

Six request/answer exchanges without upload: open, look, prepare, take_down, launch, hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stager.errors import ConnectionLost, Fenced, NotRestored, Refused
from stager.loading import LoadedPlaybook
from stager.models.base import digest
from stager.models.build import BuildIdentity, Distribution, ModelFile, TreeEntry, identify
from stager.models.context_facts import ContextFacts
from stager.models.evidence import HostFacts
from stager.staging.cleanup import Ended, restore
from stager.staging.model_fit import ModelFit, may_refuse, model_fit
from stager.staging.patience import undisturbed
from stager.staging.preflight import refusals, warnings
from stager.staging.release import Release, read_release
from stager.staging.runid import new_run_id
from stager.staging.session import Session, owner_record
from stager.staging.spec import spec_of


@dataclass(frozen=True)
class Staged:
    """A candidate that answers. ``spec`` is what the host was asked to do; ``launch`` names this one start of it.

    ``held`` are the seconds that it stays without us; None where the same connection goes on.
    """

    run_id: str
    build: BuildIdentity
    spec: Mapping[str, Any]
    host: HostFacts
    launch: str
    context: ContextFacts | None = None
    held: float | None = None


class StageFailed(Exception):
    """Staging broke off; what was changed is restored already, as far as ``ended`` tells.

    Attributes:
        error: why.
        run_id: the run, where one was opened.
        ended: how the restore ended; None where nothing had been changed or nothing is known.
    """

    def __init__(
        self, error: BaseException, run_id: str, host: HostFacts | None, build_id: str | None, ended: Ended | None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.run_id = run_id
        self.host = host
        self.build_id = build_id
        self.ended = ended


class Staging:
    """One staging under way: what is known so far, so that a failure at any point can be told and undone.

    ``run_id`` is given by whoever must know the run before the host does; else it is made here. ``begun`` is called
    once preflight has passed: whatever becomes of this controller then, somebody must find the run again.
    """

    def __init__(
        self,
        loaded: LoadedPlaybook,
        session: Session,
        now: datetime,
        *,
        with_release: bool = True,
        run_id: str | None = None,
        begun: Callable[[Staging], None] = lambda staging: None,
    ) -> None:
        self.loaded = loaded
        self.session = session
        self.begun = now
        self.tell_begun = begun
        self.run_id = run_id or new_run_id(now)
        self.release: Release | None = (
            read_release(loaded.release, loaded.playbook.candidate.prepare) if loaded.release and with_release else None
        )
        key = self.release.key if self.release else ""
        port = loaded.playbook.candidate.port
        folder = f"{session.state}/trees/{key}" if key else ""
        self.spec: dict[str, Any] = spec_of(
            loaded, self.run_id, port=0 if port == "auto" else port, tree=key, tree_folder=folder
        )
        self.tree_folder = folder
        self.host: HostFacts | None = None
        self.context: ContextFacts | None = None
        self.warnings: tuple[str, ...] = ()
        self.build: BuildIdentity | None = None
        self.changed = False

    def stage(self, secrets: Mapping[str, str], *, hold: float | None = None) -> Staged:
        """Do it all.

        Args:
            secrets: values of the playbook's secrets; they go over the channel and into no file of ours.
            hold: seconds to keep the candidate when we leave; None when the same connection goes on.

        Raises:
            StageFailed: with the reason, after the host was released or restored.
        """
        try:
            self.open()
            placed = self.prepare()
            self.take_down(placed)
            ready = self.launch(secrets)
            held = self.hold(hold) if hold is not None else None
        except BaseException as error:  # whatever it is, the host comes first
            raise self.failed(error) from error
        assert self.host is not None
        assert self.build is not None
        born = ready["born"]
        launch = born.get("invocation") or "{boot_id}:{pid}:{start}".format(**born["main"])
        return Staged(self.run_id, self.build, self.spec, self.host, launch, self.context, held)

    def rehearse(self) -> Ended:
        """Take production down and put it back: everything but the candidate.

        Raises:
            StageFailed: it was refused, or the way down broke off.
        """
        self.spec["candidate"] = None
        try:
            self.open()
            self.take_down({"build_id": "", "tree": ""})
        except BaseException as error:
            raise self.failed(error) from error
        with self.session.step("restore", changed=True):
            return restore(self.session, self.run_id, "rehearsal over")

    def open(self) -> None:
        """Open the run, see the host and refuse what must be refused."""
        session = self.session
        with session.step("open", changed=False):
            answer = session.call("open", "open", run_id=self.run_id, spec=self.spec, owner=owner_record("stage"))
            self.spec = answer["spec"]
            session.granted(answer)
        with session.step("facts", changed=False):
            facts = session.call("look", "facts", spec=self.spec, run_id=self.run_id)
        self.host = host_facts(self.loaded.playbook.host.address, facts["host"])
        with session.step("preflight", changed=False):
            candidate = self.loaded.playbook.candidate
            asks = self.spec["candidate"] is not None and may_refuse(candidate, facts)
            fit = model_fit(session, candidate, facts) if asks else None
            self.context = fit.facts() if isinstance(fit, ModelFit) else None
            if reasons := [*refusals(self.spec, facts), *(fit.reasons if isinstance(fit, ModelFit) else ())]:
                raise Refused(reasons, next=f"stager doctor {self.loaded.path}")
            self.warnings = (*warnings(self.spec, facts), *([fit] if isinstance(fit, str) else []))
            for warning in self.warnings:
                session.listen("preflight", {"event": "warning", "why": warning})
        self.tell_begun(self)
        self.tree_whole = bool(facts.get("candidate", {}).get("tree_whole", True))

    def prepare(self) -> dict[str, Any]:
        """Lay the release if the host lacks it, and name the build."""
        session, release = self.session, self.release
        if release and not self.tree_whole:
            with session.step("upload", changed=False, note=f"{len(release.manifest)} files"):
                session.call("lay", "upload", run_id=self.run_id, tree=release.key, begin=True)
                for batch in release.batches():
                    session.call("lay", "upload", run_id=self.run_id, tree=release.key, files=batch)
        with session.step("prepare", changed=False):
            manifest = list(release.manifest) if release else []
            told = session.call("prepare", "prepare", run_id=self.run_id, manifest=manifest)
        own = {entry["path"] for entry in manifest}
        self.build = identify(
            self.loaded.playbook.candidate,
            tree=[TreeEntry(**entry) for entry in told["manifest"] if entry["path"] in own],
            models=[ModelFile(path=model["path"], sha256=model["sha256"]) for model in told["models"]],
            prepared=[Distribution(**entry) for entry in told["distributions"]],
        )
        key = release.key if release else ""
        return {"build_id": self.build.build_id, "tree": key, "manifest_sha256": digest(told["manifest"])}

    def take_down(self, build: dict[str, Any]) -> None:
        """Arm the legs and take production down."""
        self.changed = True  # from here on a failure is restored, not released
        with self.session.step("production down", changed=True):
            args = {"build": build, "may_miss": ["boot"]}
            self.session.call("take_down", "production down", run_id=self.run_id, **args)

    def launch(self, secrets: Mapping[str, str]) -> dict[str, Any]:
        """Start the candidate and wait until it answers."""
        with self.session.step("launch", changed=True):
            told: dict[str, Any] = self.session.call(
                "launch", "launch", run_id=self.run_id, tree=self.tree_folder, secrets=dict(secrets)
            )
        return told

    def hold(self, seconds: float) -> float:
        """Have the guard keep the candidate for so long without us, or as long as it may run; returns which."""
        with self.session.step("hold", changed=False):
            left = float(self.session.call("hold", "hold", run_id=self.run_id, seconds=seconds)["restore_in"])
            self.session.expect(left)
        return left

    def failed(self, error: BaseException) -> StageFailed:
        """Put the host back as it was, as far as we still can, and say how that ended."""
        ended, opened = None, self.session.onhost.fence is not None
        if opened and not isinstance(error, ConnectionLost):
            try:
                with undisturbed():
                    ended = self._put_back(_first_line(error))
            except (ConnectionLost, Fenced) as second:
                error = second
            except BaseException as second:  # noqa: BLE001 -- the host is graver than why we wanted it back
                error = self._unknown(error, second) if self.changed else error
        build_id = self.build.build_id if self.build else None
        return StageFailed(error, self.run_id if opened else "", self.host, build_id, ended)

    def _put_back(self, why: str) -> Ended | None:
        if not self.changed:
            self.session.call("release", "release", run_id=self.run_id, why=why)
            return None
        with self.session.step("restore", changed=True):
            return restore(self.session, self.run_id, f"staging failed: {why}")

    def _unknown(self, first: BaseException, second: BaseException) -> NotRestored:
        return NotRestored(
            f"{_first_line(first)} Then the host's restore could not be followed: {_first_line(second)}",
            host_state=f"not known; its guard restores by {self.session.onhost.restore_by} without us",
            next=f"stager status {self.loaded.playbook.host.address}",
        )


def host_facts(address: str, host: Mapping[str, Any]) -> HostFacts:
    """What is recorded of the host beside every piece of evidence."""
    gpus = tuple(host["gpus"])
    return HostFacts(
        address=address,
        kernel=host["kernel"],
        machine=host["machine"],
        boot_id=host["boot_id"],
        gpus=gpus,
        driver=str(gpus[0].get("driver_version", "")) if gpus else "",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
