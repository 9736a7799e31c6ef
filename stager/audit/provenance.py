"""Says where a value comes from: a constant, configuration, something computed at start, or something measured.

Measured means that the expression asks about running work when it is evaluated: the length of a container, the
state of a lock or queue, or an attribute that changes after start. Everything else can only repeat the past.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stager.audit.facts import Function, Store, Value
from stager.audit.findings import FieldKind
from stager.audit.limits import Flag
from stager.audit.project import Project
from stager.audit.vocabulary import SETTINGS

_STARTS = frozenset(
    {
        "__init__",
        "__post_init__",
        "<body>",
        "load",
        "startup",
        "lifespan",
        "setup",
        "init",
        "main",
        "create_app",
        "build",
    }
)
_LIVE = frozenset(
    {"len", "qsize", "locked", "is_alive", "done", "full", "empty", "any", "sum", "memory_allocated", "mem_get_info"}
    | {"virtual_memory", "memory_info", "poll", "is_set", "time", "monotonic", "perf_counter", "statistics"}
)
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Origin:
    """What sets a value: its kind, the place, a phrase about it, and whether reading settled the question."""

    kind: FieldKind
    file: str
    line: int
    words: str
    settled: bool = True
    counter: str = ""


class Provenance:
    """Traces expressions of one project."""

    def __init__(self, project: Project, flags: dict[str, list[Flag]]) -> None:
        self.project = project
        self.flags = flags

    def trace(self, function: Function, value: Value, depth: int = _DEPTH) -> Origin:
        """Return what sets an expression."""
        here = (function.path, value.line)
        if value.shape in {"constant", "JoinedStr"} and not value.children:
            return Origin("constant", *here, "a literal in the source")
        live = next((v for v in value.walk() if v.shape == "call" and v.terminal.lstrip(".") in _LIVE), None)
        if live is not None:
            return Origin("measured", *here, f"{live.text} is asked when the endpoint is called")
        if depth == 0:
            return Origin("computed", *here, "too many steps away to follow", settled=False)
        if value.shape == "name":
            return self._name(function, value, depth)
        if value.shape == "item" or (value.shape == "call" and value.terminal in {"get", "getenv", "getattr"}):
            found = self._setting(function, value)
            if found is not None:
                return found
        if value.shape == "call":
            return self._call(function, value, depth)
        if value.shape == "Attribute" and value.children[0].shape == "call":
            made = self._part_of(function, value.children[0], value.terminal, depth)
            if made is not None:
                return made
        if value.shape == "part":
            return self.trace(function, value.children[0], depth - 1)
        return self._parts(function, value, depth)

    def _parts(self, function: Function, value: Value, depth: int) -> Origin:
        """An expression is as live as its liveliest part; one that only combines settings is computed."""
        parts = [self.trace(function, child, depth - 1) for child in value.children]
        for kind in ("measured",):
            found = next((part for part in parts if part.kind == kind), None)
            if found is not None:
                return found
        if parts and all(part.kind == "constant" for part in parts):
            return Origin("constant", function.path, value.line, "made of literals only")
        settled = bool(parts) and all(part.settled for part in parts)
        origin = next((part for part in parts if part.kind != "constant"), None)
        words = f"worked out as {value.text}" if value.text else "worked out here"
        if origin is not None:
            words += f" from {origin.words}"
        return Origin("computed", function.path, value.line, words, settled=settled)

    def _call(self, function: Function, value: Value, depth: int) -> Origin:
        for callee in self.project.callees(function, value.name):
            origins = [self._returned(function, value, callee, inner, depth) for inner in callee.returns]
            live = next((origin for origin in origins if origin.kind == "measured"), None)
            if origins:
                return live or origins[0]
        if value.children and value.name in {
            "int",
            "float",
            "bool",
            "str",
            "max",
            "min",
            "round",
            "abs",
            "sorted",
            "list",
        }:
            return self._parts(function, value, depth)
        return Origin("computed", function.path, value.line, f"{value.text} was not followed", settled=False)

    def _part_of(self, function: Function, call: Value, name: str, depth: int) -> Origin | None:
        """Trace one attribute of an object that a function of the source makes and returns."""
        for callee in self.project.callees(function, call.name):
            for inner in callee.returns:
                given = inner.keyword(name) if inner.shape == "call" else None
                if given is not None:
                    return self.trace(callee, given, depth - 1)
        return None

    def _returned(self, function: Function, call: Value, callee: Function, value: Value, depth: int) -> Origin:
        """Trace what a function returns; an argument it hands back is traced where it was passed."""
        parameter = next((p for p in callee.parameters if value.shape == "name" and p.name == value.name), None)
        if parameter is not None and parameter.annotation != "*":
            given = self.project.argument(call, callee, parameter)
            if given is not None:
                return self.trace(function, given, depth - 1)
        return self.trace(callee, value, depth - 1)

    def _setting(self, function: Function, value: Value) -> Origin | None:
        base = value.name.rpartition(".")[0]
        if any(SETTINGS.search(part) for part in base.split(".")) or value.terminal == "getenv":
            return Origin(
                "configured", function.path, value.line, f"{value.text or value.name}, read from the settings"
            )
        return None

    def _name(self, function: Function, value: Value, depth: int) -> Origin:
        base, _, name = value.name.rpartition(".")
        here = (function.path, value.line)
        if base and any(SETTINGS.search(part) for part in base.split(".")):
            return self._option(name) or Origin("configured", *here, f"{value.name}, a setting")
        if not base:
            for scope in self.project.scopes(function):
                found = next((p for p in scope.parameters if p.name == name), None)
                if found is not None:
                    return self._option(name) or Origin(
                        "configured", scope.path, found.line, f"{name}, an argument of {scope.qualname}"
                    )
        stores = list(self._stores(function, base, name))
        if not stores:
            return self._by_name_only(value.name, name, here)
        changing = [store for store in stores if self._changes(store, function)]
        if changing:
            return self._counted(changing)
        first = stores[0]
        scope_of = self.project.local(first.path, first.function)
        if not isinstance(scope_of, Function):
            return Origin("computed", first.path, first.line, f"{value.name} is set once", settled=False)
        inner = self.trace(scope_of, first.value, depth - 1) if first.value.shape != "missing" else None
        if inner is None:
            return Origin("configured", first.path, first.line, f"{name}, declared and filled from outside")
        if inner.kind == "measured" and self._starts(first):
            return Origin("computed", first.path, first.line, f"{value.name} is set once, from {inner.words}")
        if inner.kind == "constant" and first.how == "field":
            return Origin("configured", first.path, first.line, f"{name}, a setting with a default")
        if not inner.settled and self._starts(first) and first.how != "name":
            return Origin("computed", first.path, first.line, f"{value.name} is set once, as {_text(first.value)}")
        return inner

    def _by_name_only(self, whole: str, name: str, here: tuple[str, int]) -> Origin:
        """Say where the same name is set, when nothing tells which object this one is."""
        named = [store for store in self.project.stores_named.get(name, ()) if store.how in {"attribute", "field"}]
        places = ", ".join(f"{store.path}:{store.line}" for store in named[:3])
        fixed = bool(named) and all(store.how == "field" or self._starts(store) for store in named)
        words = f"what {whole} is was not found" + (f"; the same name is set at {places}" if places else "")
        return Origin("configured" if fixed else "computed", *here, words, settled=False)

    def _option(self, name: str) -> Origin | None:
        found = self.flags.get(name)
        if found:
            return Origin("configured", found[0].path, found[0].line, f"option {found[0].spelling}")
        return None

    def _stores(self, function: Function, base: str, name: str) -> Iterator[Store]:
        named = self.project.stores_named.get(name, ())
        if not base:
            scopes = [scope.qualname for scope in self.project.scopes(function)]
            local = [s for s in named if s.path == function.path and s.function in scopes and s.how == "name"]
            body = [s for s in named if s.path == function.path and s.function == "<body>" and s.how == "name"]
            others = [s for s in named if s.path == function.path and s.how == "name" and s.op] if body else []
            yield from dict.fromkeys(local or [*body, *others])
            return
        holders = {(k.path, k.qualname) for h in self.project.types(function, base) for k in self.project.lineage(h)}
        typed = [store for store in named if (store.path, store.owner) in holders]
        outside = [store for store in named if store.how != "name" and store.op and store not in typed]
        if typed:
            yield from [
                *typed,
                *(store for store in outside if store.base.rpartition(".")[2] == base.rpartition(".")[2]),
            ]
            return
        same = [store for store in named if store.base.rpartition(".")[2] == base.rpartition(".")[2] and store.base]
        owners = {(store.path, store.owner) for store in named if store.owner}
        yield from same or (named if len(owners) == 1 else ())

    def _starts(self, store: Store) -> bool:
        return store.function.rpartition(".")[2] in _STARTS

    def _changes(self, store: Store, function: Function) -> bool:
        """Say whether an assignment happens after start; a local variable's is followed instead."""
        if store.op in {"+", "-", "*"}:
            return not self._starts(store)
        if store.how == "name" and store.function != "<body>":
            return False
        return not self._starts(store) and store.function != function.qualname and store.how != "field"

    def _counted(self, changing: list[Store]) -> Origin:
        up = next((store for store in changing if store.op == "+"), changing[0])
        name = f"{up.base + '.' if up.base else ''}{up.name}"
        words = f"{name} changes while it runs ({up.function})"
        return Origin("measured", up.path, up.line, words, counter=up.function if up.op == "+" else "")


def _text(value: Value) -> str:
    return value.text or value.name or repr(value.constant)
