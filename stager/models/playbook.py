"""The playbook: one host, one candidate, what production is, which probes, which policy."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from stager.models.base import Model
from stager.models.candidate import Candidate, Claims, DescribedEngine, Limits, Ready, Stop
from stager.models.checks import Finding, refuse
from stager.models.production import CommandUnit, Drain, Healthy, Production, url_port
from stager.models.promotion import Promotion
from stager.models.quantities import Duration, format_duration
from stager.models.template import placeholders
from stager.models.texts import AbsolutePath, Name, OneLine, Port, Word, runnable_on_host

__all__ = [
    "Candidate",
    "Claims",
    "CommandUnit",
    "DescribedEngine",
    "Drain",
    "GuardSpec",
    "Healthy",
    "HostSpec",
    "Limits",
    "MarkerRules",
    "Playbook",
    "Production",
    "Ready",
    "Stop",
]

#: What may stand in braces in ``guard.notify``.
NOTIFY_WORDS = frozenset({"message", "run_id"})

#: What the cross-checks of ports and of times look at.
PORTS = (("candidate", "port"), ("production", "ports"))
TIMES = (
    ("candidate", "limits"),
    ("candidate", "ready"),
    ("candidate", "stop"),
    ("production", "drain"),
    ("production", "healthy"),
    ("guard",),
)

Address = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9:\[][A-Za-z0-9._:%\[\]-]*$"),
    Field(
        description="a host name, an IP address, a name from ssh_config, or local (user and port have their own keys)"
    ),
]


class HostSpec(Model):
    """Where the host is. What is not written here is taken from ssh_config.

    ``identity`` and ``known_hosts`` are files on this machine; ``state`` is a folder on the host.
    """

    address: Address
    user: Name | None = None
    port: Port | None = None
    jump: OneLine | None = None
    become: Literal["none", "sudo"] = "none"
    identity: OneLine | None = None
    known_hosts: OneLine | None = None
    state: AbsolutePath | None = None


class MarkerRules(Model):
    """Which markers are raised, which are respected, and what a foreign one does to the restore."""

    model_config = ConfigDict(populate_by_name=False)

    raise_: tuple[Name, ...] = Field((), alias="raise")
    respect: tuple[AbsolutePath, ...] = ()
    on_foreign: Literal["hold", "restore"] = "hold"

    @model_validator(mode="after")
    def _once(self) -> Self:
        twice = [i for i, name in enumerate(self.raise_) if name in self.raise_[:i]]
        refuse(Finding(("raise", i), "each marker once", f'"{self.raise_[i]}" a second time') for i in twice)
        return self


class GuardSpec(Model):
    """How long the host waits for a sign of life, the run's hard end, and whom it tells (seconds)."""

    lease: Annotated[Duration, Field(ge=2, description="a duration of 2s or more")] = 90.0
    deadline: Annotated[Duration, Field(gt=0)] = 18000.0
    notify: Annotated[tuple[Word, ...], AfterValidator(runnable_on_host)] = Field(
        (), description="a command as a list of words"
    )

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        found: list[Finding] = []
        if self.deadline < self.lease:
            found.append(
                Finding(
                    ("deadline",),
                    f"at least the lease ({format_duration(self.lease)})",
                    format_duration(self.deadline),
                    (("lease",),),
                )
            )
        for index, word in enumerate(self.notify):
            for name in sorted(placeholders(word) - NOTIFY_WORDS):
                found.append(Finding(("notify", index), "{message} or {run_id}", f"{{{name}}}"))
        refuse(found)
        return self


class Playbook(Model):
    """One staging, written down. ``stager`` is the format's version."""

    stager: int = Field(ge=1, le=1, description="1, the version of this format")
    name: Name
    host: HostSpec
    candidate: Candidate
    production: Production
    markers: MarkerRules = MarkerRules()
    guard: GuardSpec = GuardSpec()
    probes: dict[Name, dict[str, JsonValue]] = Field(default_factory=dict)
    promotion: Promotion | None = None
    policy: OneLine | None = Field(None, description="a policy file on this machine, relative to the playbook")

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        refuse([*self._ports(), *self._deadline()])
        return self

    def needed_seconds(self) -> float:
        """Return the longest a run may last by the playbook's own times: drain, life, stop, healthy again."""
        drain, healthy = self.production.drain, self.production.healthy
        candidate = self.candidate
        before = drain.timeout if drain else 0.0
        after = candidate.stop.grace + (healthy.within if healthy else 0.0)
        return before + candidate.limits.runtime + after

    def longest_hold(self) -> float:
        """Return the longest ``--hold`` this playbook allows, in seconds."""
        return min(self.guard.deadline, self.candidate.limits.runtime)

    def _ports(self) -> list[Finding]:
        port, production = self.candidate.port, self.production
        if port == "auto":
            return []
        found: list[Finding] = []
        if port in production.ports:
            found.append(
                Finding(("candidate", "port"), "a port production does not declare", f"production's port {port}", PORTS)
            )
        if production.healthy and url_port(production.healthy.url) == port:
            found.append(
                Finding(
                    ("production", "healthy", "url"), "production's own port", f"the candidate's port {port}", PORTS
                )
            )
        if production.drain and production.drain.gauge and url_port(production.drain.gauge) == port:
            found.append(
                Finding(
                    ("production", "drain", "gauge"), "production's own port", f"the candidate's port {port}", PORTS
                )
            )
        return found

    def _deadline(self) -> list[Finding]:
        needed, deadline, runtime = self.needed_seconds(), self.guard.deadline, self.candidate.limits.runtime
        found: list[Finding] = []
        if self.candidate.ready.timeout > runtime:
            most = f"at most limits/runtime ({format_duration(runtime)})"
            found.append(
                Finding(("candidate", "ready", "timeout"), most, format_duration(self.candidate.ready.timeout), TIMES)
            )
        if deadline < needed:
            parts = f"drain + candidate/limits/runtime ({format_duration(runtime)}) + stop + healthy"
            found.append(
                Finding(
                    ("guard", "deadline"),
                    f"at least {format_duration(needed)} ({parts})",
                    format_duration(deadline),
                    TIMES,
                )
            )
        return found
