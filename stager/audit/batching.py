"""Puts batch defaults in the order they apply, by following each limit from its default to what narrows it.

A chain starts at a limit's own default. What callers pass comes next, then every clamp (``min``) of it, then the
origin of each bound the clamp compares with, followed in the same way. The smallest number that is not replaced on
the way wins; zero and less mean "no limit of its own" in every engine read, and never win.
"""

from __future__ import annotations

from collections.abc import Iterator

from stager.audit.chains import Chain, Site, clamps, how_set, narrows, text_of
from stager.audit.facts import Function, Parameter, Store
from stager.audit.findings import BatchDefault, How
from stager.audit.limits import Flag, capacity_flags, capacity_parameters, constant
from stager.audit.project import Project
from stager.audit.vocabulary import SEMAPHORES, is_capacity

_DEPTH = 8


class BatchDefaults:
    """Builds the chains of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.flags: dict[str, list[Flag]] = {}
        for flag in capacity_flags(project):
            self.flags.setdefault(flag.dest, []).append(flag)

    def find(self) -> list[BatchDefault]:
        """Return every chain, those with a clamp first, each in the order in which its places apply."""
        chains: list[tuple[str, list[Site]]] = []
        used: set[tuple[str, int]] = set()
        for function, parameter in self._roots():
            sites = list(Chain(self.project, self.flags).parameter(function, parameter))
            if sites:
                owner = function.owner if function.name == "__init__" else function.qualname
                chains.append((f"{owner}.{parameter.name}", sites))
        chains.sort(key=lambda chain: (not any(site.how == "clamp" for site in chain[1]), -len(chain[1])))
        kept: list[tuple[str, list[Site]]] = []
        for name, sites in chains:
            places = {(site.file, site.line) for site in sites}
            if not places <= used:  # a chain inside another adds nothing
                kept.append((name, sites))
                used |= places
        for name, site in self._alone():
            if (site.file, site.line) not in used:
                kept.append((name, [site]))
                used.add((site.file, site.line))
        return [entry for name, sites in kept for entry in _ordered(name, sites)]

    def _roots(self) -> Iterator[tuple[Function, Parameter]]:
        for function, parameter in capacity_parameters(self.project):
            if function.name == "forward":
                continue  # how many rows one pass takes, not how many requests run
            value = constant(self.project, function, parameter.default)
            if (value is not None and value > 0) or clamps(self.project, function, parameter):
                yield function, parameter

    def _alone(self) -> Iterator[tuple[str, Site]]:
        """Yield limits that no chain reached: options, config models, environment, constants, semaphores."""
        for dest, found in self.flags.items():
            for site in Chain(self.project, self.flags).options(dest):
                yield f"option {found[0].spelling} in {site.file}", site
        for module in self.project.modules:
            for store in module.stores:
                single = self._single(store)
                if single is not None:
                    yield f"{store.owner + '.' if store.owner else ''}{store.name}", single

    def _single(self, store: Store) -> Site | None:
        scope = self.project.local(store.path, store.function)
        if not isinstance(scope, Function):
            return None
        for each in store.value.walk():
            if each.shape == "call" and each.terminal in SEMAPHORES:
                count = each.children[0] if each.children else each.keyword("value")
                value = constant(self.project, scope, count)
                return Site(store.name, store.path, store.line, "semaphore", each.text, value, "lets so many through")
        if not is_capacity(store.name) or store.op or store.how == "item":
            return None
        value = constant(self.project, scope, store.value)
        if value is None and not narrows(store.value):
            return None
        how: How = "clamp" if narrows(store.value) else how_set(store)
        literal = store.value.number or 0
        if how == "origin" and (store.how == "name" or scope.name != "__init__" or literal < 1):
            return None  # a local variable, a copy of an argument, or a counter that starts at nothing
        text = f"{store.name} = {text_of(store.value)}"
        return Site(store.name, store.path, store.line, how, text, value, f"sets {store.name}")


def _ordered(limit: str, sites: list[Site]) -> Iterator[BatchDefault]:
    """Number a chain's places and mark the smallest that nothing replaces."""
    known = [site for site in sites if site.value is not None and site.value > 0 and not site.replaced]
    least = min((site.value for site in known if site.value is not None), default=None)
    smallest = [site for site in known if site.value == least]
    winner = next((site for site in smallest if site.how == "flag"), smallest[0] if smallest else None)
    for order, site in enumerate(sites, 1):
        wins = site is winner
        yield BatchDefault(
            name=site.name,
            file=site.file,
            line=site.line,
            why=site.why + (f"; the smallest of this chain, so {least} wins" if wins and len(sites) > 1 else "") + ".",
            limit=limit,
            order=order,
            how=site.how,
            text=site.text,
            value=site.value,
            replaced=site.replaced,
            wins=wins,
        )
