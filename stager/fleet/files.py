"""From what an operator submits, playbooks or a fleet file, to the jobs of a queue."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from stager.errors import InvalidFile, Refused, UsageError
from stager.fleet.jobs import for_host, make_job
from stager.fleet.waves import in_waves, lacking, names_of
from stager.loading import LoadedPlaybook, read_text
from stager.models.complaint import invalid
from stager.models.fleet import FleetFile, Rollout
from stager.models.source import Source
from stager.run.playbooks import load_runnable


def load_fleet(path: Path) -> FleetFile:
    """Read a fleet file.

    Raises:
        InvalidFile: with every complaint.
    """
    source = Source.parse(read_text(path), str(path))
    fleet, found = source.check(FleetFile)
    if fleet is None or found:
        raise invalid(found)
    return fleet


def is_fleet(path: Path) -> bool:
    """Whether a file is a fleet file and not a playbook: it places candidates on hosts."""
    data = Source.parse(read_text(path), str(path)).at(())
    return isinstance(data, dict) and "place" in data and "production" not in data


def submission(paths: Sequence[Path], batch: str, now: datetime) -> Rollout:
    """Return the jobs of what was submitted: one fleet file, or playbooks, which are one wave in the order given.

    Raises:
        InvalidFile, Refused: what `rollout_of` and `load_runnable` raise.
    """
    if len(paths) == 1 and is_fleet(paths[0]):
        return rollout_of(paths[0], batch, now)
    if fleets := [path for path in paths if is_fleet(path)]:
        raise UsageError(f"{fleets[0]} is a fleet file; submit it alone.")
    jobs = tuple(make_job(load_runnable(path), batch, number, now) for number, path in enumerate(paths, 1))
    return Rollout(batch=batch, waves=(jobs,), stop_after=len(jobs))


def rollout_of(path: Path, batch: str, now: datetime) -> Rollout:
    """Return a fleet file's jobs in waves.

    The waves are of hosts: all candidates of a host are in its wave, in the order of the file.

    Raises:
        InvalidFile: the file, or a playbook it names, is wrong.
        Refused: a host lacks what a candidate needs; all of them are named.
    """
    fleet = load_fleet(path)
    if reasons := [
        why for p in fleet.place for host in names_of(fleet, p.on) if (why := lacking(fleet, host, p.needs))
    ]:
        raise Refused(reasons, next=f"${{EDITOR:-vi}} {shlex.quote(str(path))}")
    loaded = {name: load_runnable(path.absolute().parent / written) for name, written in fleet.candidates.items()}
    hosts = names_of(fleet, [name for placement in fleet.place for name in placement.on])
    waves, number = [], 0
    for index, wave in enumerate(in_waves(hosts, names_of(fleet, fleet.waves.canary), fleet.waves)):
        jobs = []
        for host in wave:
            for playbook in candidates_on(fleet, host, loaded):
                number += 1
                jobs.append(make_job(playbook, batch, number, now, wave=index))
        waves.append(tuple(jobs))
    if not number:
        raise InvalidFile(f"{path} places no candidate on any host.")
    return Rollout(batch=batch, waves=tuple(waves), stop_after=fleet.waves.stop_after)


def candidates_on(fleet: FleetFile, host: str, loaded: dict[str, LoadedPlaybook]) -> list[LoadedPlaybook]:
    """Return the playbooks of a host's candidates, in the order of the file."""
    spec = fleet.hosts[host].spec()
    return [for_host(loaded[p.candidate], spec) for p in fleet.place if host in names_of(fleet, p.on)]


def with_terms(rollout: Rollout, *, until: datetime | None, held_for: float, attempts: int) -> Rollout:
    """Return the jobs with the terms of their submission."""
    terms = {"until": until, "held_for": held_for, "attempts": attempts}
    waves = tuple(tuple(job.model_copy(update=terms) for job in wave) for wave in rollout.waves)
    return rollout.model_copy(update={"waves": waves})
