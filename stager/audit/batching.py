"""Puts batch defaults in the order they apply, by following each limit from its default to what narrows it.

A chain starts at a limit's own default. What callers pass comes next, then every clamp (``min``) of it, then the
origin of each bound the clamp compares with, followed in the same way. The smallest number that is not replaced on
the way wins; zero and less mean "no limit of its own" in every engine read, and never win.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stager.audit.facts import Function, Parameter, Store, Value
from stager.audit.findings import BatchDefault, How
from stager.audit.limits import Flag, capacity_flags, capacity_parameters, constant
from stager.audit.project import Project
from stager.audit.vocabulary import SEMAPHORES, is_capacity

_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Site:
    """One place in a chain."""

    name: str
    file: str
    line: int
    how: How
    text: str
    value: int | float | None
    why: str
    replaced: bool = False


class BatchDefaults:
    """Builds the chains of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.flags: dict[str, list[Flag]] = {}
        for flag in capacity_flags(project):
            self.flags.setdefault(flag.dest, []).append(flag)
        self._seen: set[tuple[str, int, str]] = set()

    def find(self) -> list[BatchDefault]:
        """Return every chain, those with a clamp first, each in the order in which its places apply."""
        chains: list[tuple[str, list[_Site]]] = []
        used: set[tuple[str, int]] = set()
        for function, parameter in self._roots():
            self._seen = set()
            sites = list(self._parameter(function, parameter, _DEPTH))
            if sites:
                owner = function.owner if function.name == "__init__" else function.qualname
                chains.append((f"{owner}.{parameter.name}", sites))
        chains.sort(key=lambda chain: (not any(site.how == "clamp" for site in chain[1]), -len(chain[1])))
        kept: list[tuple[str, list[_Site]]] = []
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
            if (value is not None and value > 0) or self._clamps(function, parameter):
                yield function, parameter

    def _parameter(self, function: Function, parameter: Parameter, depth: int) -> Iterator[_Site]:
        key = (function.path, function.line, parameter.name)
        if depth == 0 or key in self._seen:
            return
        self._seen.add(key)
        passed = [
            (scope, given, call)
            for scope, call in self.project.callers(function)
            if not call.consumed.startswith("enter")
            for given in (self.project.argument(call, function, parameter),)
        ]
        explicit = [(scope, given, call) for scope, given, call in passed if given is not None]
        if parameter.default is not None and parameter.default.constant is not None:
            value = constant(self.project, function, parameter.default)
            replaced = bool(explicit) and len(explicit) == len(passed)
            words = "default of the argument" + (", replaced by every caller found" if replaced else "")
            text = f"{parameter.name} = {_text(parameter.default)}"
            yield _Site(parameter.name, function.path, parameter.line, "default", text, value, words, replaced)
        for store in self._clamps(function, parameter):
            yield from self._clamp(function, store, parameter, depth)
        for scope, given, call in explicit:
            yield from self._origin(scope, given, depth - 1, call)

    def _clamps(self, function: Function, parameter: Parameter) -> list[Store]:
        """Return assignments of the same name, in the function or its class, that take the smaller of two."""
        found = []
        for store in self.project.stores_named.get(parameter.name, ()):
            same_class = bool(function.owner) and store.path == function.path and store.owner == function.owner
            same_function = store.path == function.path and store.function == function.qualname
            if (same_function or (same_class and store.base == "self")) and _narrows(store.value):
                found.append(store)
        return found

    def _clamp(self, function: Function, store: Store, parameter: Parameter, depth: int) -> Iterator[_Site]:
        scope = self.project.local(store.path, store.function)
        where = scope if isinstance(scope, Function) else function
        bounds = [
            child
            for each in store.value.walk()
            if each.shape == "call" and each.terminal == "min"
            for child in each.children
            if child.terminal.lstrip("_") != parameter.name.lstrip("_")
        ]
        values = [value for bound in bounds for value in (constant(self.project, where, bound),) if value is not None]
        names = ", ".join(_text(bound) for bound in bounds)
        yield _Site(
            parameter.name,
            store.path,
            store.line,
            "clamp",
            f"{store.base + '.' if store.base else ''}{store.name} = {_text(store.value)}",
            min(values, default=None),
            f"clamped to {names}: whatever was asked for, no more than this is used",
        )
        for bound in bounds:
            yield from self._origin(where, bound, depth - 1, None)

    def _origin(self, function: Function, value: Value, depth: int, call: Value | None) -> Iterator[_Site]:
        """Follow a value to what sets it: a constant, an option, an argument, an attribute."""
        if depth == 0:
            return
        if value.number is not None and call is not None:
            key = (function.path, value.line, "call")
            if key not in self._seen:
                self._seen.add(key)
                words = f"passed by the call of {call.name}"
                yield _Site(call.name, function.path, value.line, "call", _text(value), value.number, words)
            return
        plain = value.shape in {"name", "item"}
        for name in _names(value):
            base, _, last = name.rpartition(".")
            if not plain and not is_capacity(last) and last not in self.flags:
                continue  # arithmetic is followed only into names that are limits themselves
            if not base:
                scope = next(
                    (s for s in self.project.scopes(function) if any(p.name == last for p in s.parameters)), None
                )
                if scope is not None:
                    yield from self._parameter(scope, next(p for p in scope.parameters if p.name == last), depth - 1)
                    continue
            if last in self.flags:
                yield from self._options(last)
            yield from self._attribute(function, base, last, depth)

    def _options(self, dest: str) -> Iterator[_Site]:
        for flag in self.flags[dest]:
            key = (flag.path, flag.line, "flag")
            if key in self._seen:
                continue
            self._seen.add(key)
            value = constant(self.project, flag.function, flag.default)
            words = f"option {flag.spelling}" + (" by default" if value is not None else ", no default read")
            default = flag.default
            if default is not None and default.shape == "name" and "." not in default.name:
                yield from self._option_default(flag, default.name)
            yield _Site(dest, flag.path, flag.line, "flag", f"{flag.spelling} = {_text(default)}", value, words)

    def _option_default(self, flag: Flag, name: str) -> Iterator[_Site]:
        found = next((p for p in flag.function.parameters if p.name == name and p.default is not None), None)
        if found is not None:
            value = constant(self.project, flag.function, found.default)
            text = f"{name} = {_text(found.default)}"
            yield _Site(name, flag.path, found.line, "default", text, value, f"default that {flag.spelling} takes")

    def _attribute(self, function: Function, base: str, name: str, depth: int) -> Iterator[_Site]:
        holders = self.project.types(function, base) if base else ()
        stores = [
            store
            for store in self.project.stores_named.get(name, ())
            if (not base and store.path == function.path)
            or any((store.path, store.owner) == (k.path, k.qualname) for h in holders for k in self.project.lineage(h))
        ]
        if not stores and base and is_capacity(name):
            every = [s for s in self.project.stores_named.get(name, ()) if s.owner]
            stores = every if len({(s.path, s.owner) for s in every}) == 1 else []
        for store in stores:
            key = (store.path, store.line, name)
            scope = self.project.local(store.path, store.function)
            if key in self._seen or not isinstance(scope, Function) or store.op:
                continue
            self._seen.add(key)
            value = constant(self.project, scope, store.value)
            text = f"{store.base + '.' if store.base else ''}{name} = {_text(store.value)}"
            if store.value.number is not None or store.value.shape != "name":
                how: How = "clamp" if _narrows(store.value) else _how(store)
                yield _Site(name, store.path, store.line, how, text, value, f"sets {name}")
            yield from self._origin(scope, store.value, depth - 1, None)

    def _alone(self) -> Iterator[tuple[str, _Site]]:
        """Yield limits that no chain reached: options, config models, environment, constants, semaphores."""
        for dest, found in self.flags.items():
            for flag in found:
                self._seen = set()
                for site in self._options(dest):
                    yield f"option {flag.spelling} in {flag.path}", site
        for module in self.project.modules:
            for store in module.stores:
                single = self._single(store)
                if single is not None:
                    yield f"{store.owner + '.' if store.owner else ''}{store.name}", single

    def _single(self, store: Store) -> _Site | None:
        scope = self.project.local(store.path, store.function)
        if not isinstance(scope, Function):
            return None
        for each in store.value.walk():
            if each.shape == "call" and each.terminal in SEMAPHORES:
                count = each.children[0] if each.children else each.keyword("value")
                value = constant(self.project, scope, count)
                return _Site(store.name, store.path, store.line, "semaphore", each.text, value, "lets so many through")
        if not is_capacity(store.name) or store.op or store.how == "item":
            return None
        value = constant(self.project, scope, store.value)
        if value is None and not _narrows(store.value):
            return None
        how: How = "clamp" if _narrows(store.value) else _how(store)
        literal = store.value.number or 0
        if how == "origin" and (store.how == "name" or scope.name != "__init__" or literal < 1):
            return None  # a local variable, a copy of an argument, or a counter that starts at nothing
        text = f"{store.name} = {_text(store.value)}"
        return _Site(store.name, store.path, store.line, how, text, value, f"sets {store.name}")


def _how(store: Store) -> How:
    if any(each.terminal == "getenv" or "environ" in each.name for each in store.value.walk()):
        return "environment"
    if store.how == "field":
        return "config"
    return "constant" if store.function == "<body>" else "origin"


def _narrows(value: Value) -> bool:
    return any(each.shape == "call" and each.name == "min" for each in value.walk())


def _names(value: Value) -> Iterator[str]:
    for each in value.walk():
        if each.shape in {"name", "item"} and each.name:
            yield each.name


def _text(value: Value | None) -> str:
    if value is None:
        return "no default"
    if value.text:
        return value.text
    return value.name or repr(value.constant)


def _ordered(limit: str, sites: list[_Site]) -> Iterator[BatchDefault]:
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
