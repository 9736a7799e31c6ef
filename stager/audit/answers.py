"""Finds what each endpoint answers with: the keys, and the expressions behind them.

Followed are literals, local variables, response models, calls of the source's own functions, and what a plain HTTP
server writes in the branch of a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stager.audit.endpoints import routes
from stager.audit.facts import CALLEE, Function, Value
from stager.audit.project import Project
from stager.audit.vocabulary import CAPACITY_FIELD, HEALTH_FIELD, HEALTH_PATH

_RESPONSES = frozenset({"json_response", "JSONResponse", "ORJSONResponse", "UJSONResponse", "jsonify", "Response"})
_WRAPPERS = ("send", "_send", "write", "encode", "dump", "model_dump")
_CONTENT = frozenset({"content", "data", "body", CALLEE})
_DEPTH = 6

_Keys = Iterator[tuple[str, Value, Function]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One key an endpoint returns, the expression behind it, and the function that expression is in."""

    endpoint: str
    key: str
    value: Value
    function: Function


def answers(project: Project) -> Iterator[Answer]:
    """Yield what each endpoint returns: every key of a health endpoint, and keys of others that speak of capacity."""
    seen: set[tuple[str, str, str, int]] = set()
    for path, function in routes(project):
        whole = HEALTH_PATH.search(path) is not None
        follow = _Follow(project)
        for key, value, where in follow.answered(function, path):
            last = key.rpartition(".")[2]
            mark = (path, key, where.path, value.line)
            if mark not in seen and (whole or CAPACITY_FIELD.search(last) or HEALTH_FIELD.fullmatch(last)):
                seen.add(mark)
                yield Answer(path, key, value, where)


@dataclass(frozen=True, slots=True)
class _Follow:
    """Follows one answer to its keys."""

    project: Project

    def answered(self, function: Function, path: str) -> _Keys:
        """Yield key, expression and function for what a route returns or writes."""
        branch = next((b for b in function.branches if any(v.constant == path for v in b.test.walk())), None)
        if branch is not None:
            yield from self._sent(function, branch.line, branch.last)
            return
        for value in function.returns:
            yield from self.keys(function, value, "", _DEPTH)
        if not function.returns:
            yield from self._sent(function, function.line, 1 << 30)

    def _sent(self, function: Function, first: int, last: int, depth: int = _DEPTH) -> _Keys:
        """Yield what is written, or done by a call of its own, between two lines of a function."""
        for event in function.events:
            call = event.value
            if event.kind != "call" or call is None or not first < event.line <= last:
                continue
            if call.terminal.startswith(_WRAPPERS) or call.consumed in {"statement", "return"}:
                yield from self.keys(function, call, "", depth - 1)

    def keys(self, function: Function, value: Value, prefix: str, depth: int) -> _Keys:
        """Yield the keys of an expression."""
        if depth <= 0:
            return
        if value.shape == "dict":
            yield from self._dict(function, value, prefix, depth)
        elif value.shape == "name" and "." not in value.name:
            yield from self._built(function, value.name, prefix, depth)
        elif value.shape in {"IfExp", "List", "Tuple", "BoolOp", "ListComp", "Starred"}:
            for child in value.children:
                yield from self.keys(function, child, prefix, depth)
        elif value.shape == "call":
            yield from self._call(function, value, prefix, depth)

    def _dict(self, function: Function, value: Value, prefix: str, depth: int) -> _Keys:
        for key, inner in value.keywords:
            if key == "**":
                yield from self.keys(function, inner, prefix, depth - 1)
            elif inner.shape == "dict" or self._names_dict(function, inner):
                yield from self.keys(function, inner, f"{prefix}{key}.", depth - 1)
            else:
                yield f"{prefix}{key}", inner, function

    def _names_dict(self, function: Function, value: Value) -> bool:
        """Say whether a value is a local variable that was assigned a dictionary."""
        named = self.project.stores_named.get(value.name, ()) if value.shape == "name" else ()
        return any(
            s.value.shape == "dict" and (s.path, s.function) == (function.path, function.qualname) for s in named
        )

    def _call(self, function: Function, value: Value, prefix: str, depth: int) -> _Keys:
        if value.terminal in _RESPONSES or value.terminal.startswith(_WRAPPERS):
            for child in (*value.children, *(inner for key, inner in value.keywords if key in _CONTENT)):
                inside = (each for each in child.walk() if each.shape in {"dict", "call"} or "." not in each.name)
                first = next((each for each in inside if each.shape in {"dict", "name", "call"}), None)
                if first is not None:
                    yield from self.keys(function, first, prefix, depth - 1)
            return
        klass = self.project.klass(function.path, value.name) if value.name[:1].isalpha() else None
        if klass is not None:
            yield from self._model(function, value, prefix, depth)
            return
        for callee in self.project.callees(function, value.name):
            for inner in callee.returns:
                yield from self.keys(callee, inner, prefix, depth - 1)
            if not callee.returns:
                yield from self._sent(callee, callee.line, 1 << 30, depth - 1)

    def _model(self, function: Function, value: Value, prefix: str, depth: int) -> _Keys:
        """A response model: each keyword is a key, and a model inside it is a level of its own."""
        for key, inner in value.keywords:
            if key in {"**", CALLEE}:
                continue
            if inner.shape == "call" and inner.keywords and self.project.klass(function.path, inner.name) is not None:
                yield from self.keys(function, inner, f"{prefix}{key}.", depth - 1)
            else:
                yield f"{prefix}{key}", inner, function

    def _built(self, function: Function, name: str, prefix: str, depth: int) -> _Keys:
        """Follow a local variable: what it was assigned, and the keys that were added to it."""
        for store in self.project.by_path[function.path].stores:
            if store.function != function.qualname:
                continue
            if store.how == "name" and store.name == name and not store.op and store.value.name != name:
                yield from self.keys(function, store.value, prefix, depth - 1)
            elif store.how == "item" and store.base == name:
                yield f"{prefix}{store.name}", store.value, function
