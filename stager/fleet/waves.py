"""Waves: canaries first, then so many hosts at a time, and the rule that stops a rollout. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stager.errors import gravest
from stager.models.fleet import FleetFile, Needs, Told, Waves

#: A host left in such a state stops a rollout whatever the rule says: something was left for a person, or worse.
GRAVE = frozenset({8, 9})


def names_of(fleet: FleetFile, wanted: Iterable[str]) -> list[str]:
    """Return the hosts that names of hosts and groups stand for, each once, in the order asked for."""
    found: list[str] = []
    for name in wanted:
        members = [name] if name in fleet.hosts else [host for host, spec in fleet.hosts.items() if name in spec.groups]
        found += [host for host in members if host not in found]
    return found


def in_waves(hosts: Sequence[str], canary: Sequence[str], waves: Waves) -> list[list[str]]:
    """Return the hosts in waves: the canaries that are among them, then groups of ``waves.size``."""
    first = [host for host in hosts if host in canary]
    rest = [host for host in hosts if host not in canary]
    return [wave for wave in [first, *(rest[i : i + waves.size] for i in range(0, len(rest), waves.size))] if wave]


def lacking(fleet: FleetFile, host: str, needs: Needs | None) -> str:
    """Return why a host cannot carry a candidate; empty where it can."""
    if needs is None:
        return ""
    fit = [memory for memory in fleet.hosts[host].gpus if memory >= needs.memory]
    if len(fit) >= needs.gpus:
        return ""
    return f"{host} has {len(fit)} GPU(s) of the kind that is needed, not {needs.gpus}"


def stopped(told: Sequence[Told], stop_after: int) -> str:
    """Return why no further wave may begin; empty where it may."""
    failed = [one for one in told if not one.well]
    grave = [one for one in failed if one.exit_code in GRAVE or one.ending == "lost"]
    if grave:
        return f"{len(grave)} host(s) need a person (exit {gravest([one.exit_code for one in grave])})"
    if len(failed) >= stop_after:
        return f"{len(failed)} job(s) did not end well; the rule stops after {stop_after}"
    return ""
