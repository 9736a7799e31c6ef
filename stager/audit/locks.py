"""Says which lock a name means, and where it is made: locks, semaphores of one, and semaphores of more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stager.audit.facts import Function, Store, Value
from stager.audit.project import Project
from stager.audit.vocabulary import LOCKISH, LOCKS, SEMAPHORES


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock, where it is made, and how wide it is; ``counted`` lets more than one through."""

    name: str
    file: str
    line: int
    kind: Literal["lock", "semaphore", "counted"]
    scope: str


@dataclass(frozen=True, slots=True)
class Locks:
    """Finds the locks of one project."""

    project: Project

    def find(self, function: Function, ref: str) -> Lock | None:
        """Return the lock a dotted name means in a function; None if it is none, or made anew for each call."""
        base, _, name = ref.rpartition(".")
        if not name or ref.startswith("."):
            return None
        stores = [store for store in self.project.stores_named.get(name, ()) if made(store.value)]
        store = self._nearest(stores, function, base)
        if store is None:
            if stores or not LOCKISH.search(name) or self._wrapped(function, name):
                return None
            if "sem" in name.lower():
                return None  # its count is not known, so neither is whether it lets only one through
            return Lock(name, function.path, function.line, "lock", "where it is made was not found")
        if store.function == function.qualname and store.how == "name" and store.path == function.path:
            return None  # made anew for each call, so nobody else waits for it
        kind, words = made(store.value) or ("lock", "")
        scope = f"one per {store.owner}" if store.owner and store.how != "field" else "one for the whole process"
        return Lock(name, store.path, store.line, kind, f"{words}, {scope}")

    def _wrapped(self, function: Function, name: str) -> bool:
        """Say whether the name is a function: entering a function's result is judged by that function."""
        return bool(self.project.functions_named.get(name)) or name in self.project.by_path[function.path].imports

    def _nearest(self, stores: list[Store], function: Function, base: str) -> Store | None:
        same = [store for store in stores if store.path == function.path]
        scopes = {scope.qualname for scope in self.project.scopes(function)}
        if base in {"self", "cls"}:
            own = self.project.owner(function)
            lineage = {(k.path, k.qualname) for k in self.project.lineage(own)} if own is not None else set()
            return next((store for store in stores if (store.path, store.owner) in lineage), None)
        if not base:
            nested = next((s for s in same if s.function in scopes and s.how == "name"), None)
            plain = nested or next((s for s in same if s.function == "<body>" and s.how == "name"), None)
            return plain or self._imported(stores, function)
        for klass in self.project.types(function, base):
            for store in stores:
                if (store.path, store.owner) == (klass.path, klass.qualname):
                    return store
        return stores[0] if len({(store.path, store.owner) for store in stores}) == 1 else None

    def _imported(self, stores: list[Store], function: Function) -> Store | None:
        module = self.project.by_path[function.path]
        for store in stores:
            source = module.imports.get(store.name, "").rpartition(".")[0]
            origin = self.project.module(source) if source else None
            if origin is not None and origin.path == store.path:
                return store
        return None


def made(value: Value) -> tuple[Literal["lock", "semaphore", "counted"], str] | None:
    """Return the kind and the text if a value makes a lock or semaphore; ``counted`` lets more than one through."""
    for each in value.walk():
        if each.shape == "call" and each.terminal in LOCKS:
            return "lock", each.text
        if each.shape == "call" and each.terminal in SEMAPHORES:
            count = each.children[0] if each.children else each.keyword("value") or each.keyword("total_tokens")
            if count is None or count.number == 1:  # a semaphore without a number starts at one
                return "semaphore", each.text
            return "counted", each.text
        if each.shape == "name" and each.terminal in LOCKS and value.keyword("default_factory") is each:
            return "lock", each.name
    return None
