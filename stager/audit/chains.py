"""Follows one limit from its default to everything that narrows it, place by place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stager.audit.facts import Function, Parameter, Store, Value
from stager.audit.findings import How
from stager.audit.limits import Flag, constant
from stager.audit.project import Project
from stager.audit.vocabulary import is_capacity

_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Site:
    """One place in a chain."""

    name: str
    file: str
    line: int
    how: How
    text: str
    value: int | float | None
    why: str
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The places of one limit; each is passed once."""

    project: Project
    flags: Mapping[str, Sequence[Flag]]
    _seen: set[tuple[str, int, str]] = field(default_factory=set)

    def parameter(self, function: Function, parameter: Parameter, depth: int = _DEPTH) -> Iterator[Site]:
        """Yield an argument's default, its clamps and what they compare with, and what callers pass."""
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
            text = f"{parameter.name} = {text_of(parameter.default)}"
            yield Site(parameter.name, function.path, parameter.line, "default", text, value, words, replaced)
        for store in clamps(self.project, function, parameter):
            yield from self._clamp(function, store, parameter, depth)
        for scope, given, call in explicit:
            yield from self._origin(scope, given, depth - 1, call)

    def _clamp(self, function: Function, store: Store, parameter: Parameter, depth: int) -> Iterator[Site]:
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
        names = ", ".join(text_of(bound) for bound in bounds)
        yield Site(
            parameter.name,
            store.path,
            store.line,
            "clamp",
            f"{store.base + '.' if store.base else ''}{store.name} = {text_of(store.value)}",
            min(values, default=None),
            f"clamped to {names}: whatever was asked for, no more than this is used",
        )
        for bound in bounds:
            yield from self._origin(where, bound, depth - 1, None)

    def _origin(self, function: Function, value: Value, depth: int, call: Value | None) -> Iterator[Site]:
        """Follow a value to what sets it: a constant, an option, an argument, an attribute."""
        if depth == 0:
            return
        if value.number is not None and call is not None:
            key = (function.path, value.line, "call")
            if key not in self._seen:
                self._seen.add(key)
                words = f"passed by the call of {call.name}"
                yield Site(call.name, function.path, value.line, "call", text_of(value), value.number, words)
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
                    yield from self.parameter(scope, next(p for p in scope.parameters if p.name == last), depth - 1)
                    continue
            if last in self.flags:
                yield from self.options(last)
            yield from self._attribute(function, base, last, depth)

    def options(self, dest: str) -> Iterator[Site]:
        """Yield the options that arrive under a name, each after the default it takes."""
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
            yield Site(dest, flag.path, flag.line, "flag", f"{flag.spelling} = {text_of(default)}", value, words)

    def _option_default(self, flag: Flag, name: str) -> Iterator[Site]:
        found = next((p for p in flag.function.parameters if p.name == name and p.default is not None), None)
        if found is not None:
            value = constant(self.project, flag.function, found.default)
            text = f"{name} = {text_of(found.default)}"
            yield Site(name, flag.path, found.line, "default", text, value, f"default that {flag.spelling} takes")

    def _attribute(self, function: Function, base: str, name: str, depth: int) -> Iterator[Site]:
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
            text = f"{store.base + '.' if store.base else ''}{name} = {text_of(store.value)}"
            if store.value.number is not None or store.value.shape != "name":
                how: How = "clamp" if narrows(store.value) else how_set(store)
                yield Site(name, store.path, store.line, how, text, value, f"sets {name}")
            yield from self._origin(scope, store.value, depth - 1, None)


def clamps(project: Project, function: Function, parameter: Parameter) -> list[Store]:
    """Return assignments of the same name, in the function or its class, that take the smaller of two."""
    found = []
    for store in project.stores_named.get(parameter.name, ()):
        same_class = bool(function.owner) and store.path == function.path and store.owner == function.owner
        same_function = store.path == function.path and store.function == function.qualname
        if (same_function or (same_class and store.base == "self")) and narrows(store.value):
            found.append(store)
    return found


def how_set(store: Store) -> How:
    """Return what kind of place an assignment is."""
    if any(each.terminal == "getenv" or "environ" in each.name for each in store.value.walk()):
        return "environment"
    if store.how == "field":
        return "config"
    return "constant" if store.function == "<body>" else "origin"


def narrows(value: Value) -> bool:
    """Say whether a value is the smaller of several."""
    return any(each.shape == "call" and each.name == "min" for each in value.walk())


def _names(value: Value) -> Iterator[str]:
    for each in value.walk():
        if each.shape in {"name", "item"} and each.name:
            yield each.name


def text_of(value: Value | None) -> str:
    """Return an expression as it is shown."""
    if value is None:
        return "no default"
    if value.text:
        return value.text
    return value.name or repr(value.constant)
