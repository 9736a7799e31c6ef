"""Many hosts, many candidates: the fleet file an operator writes, and a job as it lies in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.evidence import Sha256
from stager.models.playbook import HostSpec
from stager.models.quantities import Size
from stager.models.texts import Count, Name, OneLine


class FleetHost(HostSpec):
    """One host of the fleet: how it is reached, the groups it belongs to, the memory of each of its GPUs."""

    groups: tuple[Name, ...] = ()
    gpus: tuple[Size, ...] = ()

    def spec(self) -> HostSpec:
        """Return only how it is reached."""
        return HostSpec(**self.model_dump(exclude={"groups", "gpus"}))


class Needs(Model):
    """What a candidate needs of a host: so many GPUs with at least so much memory each."""

    gpus: Count = 1
    memory: Size = 0


class Placement(Model):
    """One candidate on some hosts: names of hosts or groups, in the order they are to be taken."""

    candidate: Name
    on: tuple[Name, ...] = Field(min_length=1)
    needs: Needs | None = None


class Waves(Model):
    """Canaries first, then so many hosts at a time; ``stop_after`` so many failed jobs nothing new is queued."""

    canary: tuple[Name, ...] = ()
    size: Count = 4
    stop_after: Count = 1


class FleetFile(Model):
    """The fleet file. ``candidates`` maps a name to a playbook whose ``host`` section is replaced for each host."""

    stager: int = Field(ge=1, le=1, description="1, the version of this format")
    name: Name
    candidates: dict[Name, OneLine] = Field(min_length=1)
    hosts: dict[Name, FleetHost] = Field(min_length=1)
    place: tuple[Placement, ...] = Field(min_length=1)
    waves: Waves = Waves()

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        known = set(self.hosts) | {group for host in self.hosts.values() for group in host.groups}
        found = [
            Finding(("place", index, "on", place), "a host or a group of this file", f'"{name}"', (("hosts",),))
            for index, placement in enumerate(self.place)
            for place, name in enumerate(placement.on)
            if name not in known
        ]
        found += [
            Finding(("place", index, "candidate"), "a candidate of this file", f'"{placement.candidate}"')
            for index, placement in enumerate(self.place)
            if placement.candidate not in self.candidates
        ]
        found += [
            Finding(("waves", "canary", index), "a host or a group of this file", f'"{name}"', (("hosts",),))
            for index, name in enumerate(self.waves.canary)
            if name not in known
        ]
        refuse(found)
        return self


class Job(Model):
    """One run that somebody asked for, as it lies in the queue: enough for any worker to carry it out.

    ``path`` is the playbook, the same on every worker's machine, and ``sha256`` its digest when the job was submitted;
    ``text`` is that playbook for this host. ``release_key`` is the release as it was then (empty: none is shipped).
    ``until`` is when production must be back. ``held_for`` is how long a held host is waited for (seconds);
    ``attempts`` is how many runs the job may take where one is cut short.
    """

    job_id: OneLine
    batch: OneLine
    host: OneLine
    name: Name
    path: OneLine
    sha256: Sha256
    text: str
    release_key: str
    submitted: datetime
    submitted_by: OneLine
    wave: int = 0
    until: datetime | None = None
    held_for: float = 600.0
    attempts: Count = 1

    @property
    def lane(self) -> str:
        """The queue's partition: one job of a lane runs at a time over the whole fleet."""
        return self.host


class Launch(Model):
    """A run that is about to be opened: its name, the worker process that does it, and when. Written before it is."""

    run_id: OneLine
    process: OneLine
    at: datetime


#: How a job ended. ``interrupted``: its run was cut short and the host says how it was left. ``never begun``: the host
#: knows nothing of the run. ``lost``: the host could not be asked.
Ending = Literal["done", "interrupted", "cancelled", "never begun", "held", "lost", "withheld"]


class Told(Model):
    """What a job came to: the exit code of its run, what became of the host, and the run's whole record, if any."""

    ending: Ending
    exit_code: int
    run_id: str = ""
    kind: str = ""
    message: str = ""
    host_state: str = ""
    worker: str = ""
    ended: datetime | None = None
    #: The run's record as JSON, so that every controller can read the morning's answer.
    record: dict[str, Any] | None = None

    @property
    def well(self) -> bool:
        """Whether what was asked is true."""
        return self.ending == "done" and self.exit_code == 0


class Rollout(Model):
    """A fleet's jobs in waves: a wave is queued when the one before has ended, unless the stop rule speaks."""

    batch: OneLine
    waves: tuple[tuple[Job, ...], ...]
    stop_after: Count
