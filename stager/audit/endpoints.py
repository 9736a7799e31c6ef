"""Finds the routes of a server and what each of them answers with: the keys and the expressions behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stager.audit.facts import Function, Value
from stager.audit.project import Project
from stager.audit.vocabulary import CAPACITY_FIELD, HEALTH_FIELD, HEALTH_PATH

_DECORATORS = frozenset({"get", "route", "api_route", "view"})
_REGISTERS = frozenset({"add_get", "add_route", "add_api_route", "add_url_rule", "get", "route", "Route"})
_RESPONSES = frozenset(
    {"json_response", "JSONResponse", "ORJSONResponse", "UJSONResponse", "jsonify", "dumps", "Response"}
)
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """One key an endpoint returns, the expression behind it, and the function that expression is in."""

    endpoint: str
    key: str
    value: Value
    function: Function


def routes(project: Project) -> Iterator[tuple[str, Function]]:
    """Yield the path of each route that can be asked with GET, and the function that answers it."""
    for function in project.functions:
        for decorator in function.decorators:
            if decorator.terminal in _DECORATORS and _asks(decorator):
                for path in _paths(decorator):
                    yield path, function
        for event in function.calls:
            call = event.value
            if call is not None and call.terminal in _REGISTERS and call.consumed != "await" and _asks(call):
                yield from _registered(project, function, call)
        for branch in function.branches:  # a plain HTTP server compares the path itself
            if any(value.terminal in {"path", "url"} for value in branch.test.walk() if value.shape == "name"):
                words = [value.constant for value in branch.test.walk() if isinstance(value.constant, str)]
                for path in (word for word in words if word.startswith("/")):
                    yield path, function


def _asks(call: Value) -> bool:
    methods = call.keyword("methods")
    return methods is None or any(value.constant in {"GET", "get"} for value in methods.walk())


def _paths(call: Value) -> list[str]:
    found = [child.constant for child in call.children if isinstance(child.constant, str)]
    given = call.keyword("path")
    if given is not None and isinstance(given.constant, str):
        found.append(given.constant)
    return [path for path in found if path.startswith("/")]


def _registered(project: Project, function: Function, call: Value) -> Iterator[tuple[str, Function]]:
    handlers = [child for child in call.children if child.shape == "name"]
    handlers += [value for key, value in call.keywords if key in {"endpoint", "view_func", "handler"}]
    for path in _paths(call):
        for handler in handlers:
            for answered in project.callees(function, handler.name):
                yield path, answered


def answers(project: Project) -> Iterator[Answer]:
    """Yield what each endpoint returns: every key of a health endpoint, and keys of others that speak of capacity."""
    seen: set[tuple[str, str, str, int]] = set()
    for path, function in routes(project):
        whole = HEALTH_PATH.search(path) is not None
        for key, value, where in _returned(project, function, _DEPTH, path):
            last = key.rpartition(".")[2]
            if not (whole or CAPACITY_FIELD.search(last) or HEALTH_FIELD.fullmatch(last)):
                continue
            mark = (path, key, where.path, value.line)
            if mark not in seen:
                seen.add(mark)
                yield Answer(path, key, value, where)


def _returned(project: Project, function: Function, depth: int, path: str) -> Iterator[tuple[str, Value, Function]]:
    """Yield key, expression and function for everything a function returns, following the functions it calls."""
    for value in [*function.returns, *_sent(function, path)]:
        yield from _keys(project, function, value, "", depth)


def _sent(function: Function, path: str) -> Iterator[Value]:
    """Yield what a plain HTTP server writes in the branch for a path; it returns nothing."""
    branch = next((b for b in function.branches if any(v.constant == path for v in b.test.walk())), None)
    if branch is None:
        return
    for event in function.events:
        inside = branch.line < event.line <= branch.last
        if event.kind == "call" and event.value is not None and inside:
            word = event.value.terminal
            if word in _RESPONSES or "send" in word or "write" in word or event.value.consumed == "statement":
                yield event.value


def _keys(
    project: Project, function: Function, value: Value, prefix: str, depth: int
) -> Iterator[tuple[str, Value, Function]]:
    if depth == 0:
        return
    if value.shape == "dict":
        for key, inner in value.keywords:
            name = f"{prefix}{key}" if key != "**" else prefix.rstrip(".")
            if inner.shape == "dict" or key == "**":
                yield from _keys(project, function, inner, f"{name}." if name else "", depth - 1)
            else:
                yield name, inner, function
        return
    if value.shape == "name" and "." not in value.name:
        yield from _built(project, function, value.name, prefix, depth)
        return
    if value.shape in {"IfExp", "List", "Tuple", "BoolOp", "ListComp", "Starred"}:
        for child in value.children:
            yield from _keys(project, function, child, prefix, depth)
        return
    if value.shape != "call":
        return
    if value.terminal in _RESPONSES or value.terminal.startswith(
        ("send", "_send", "write", "encode", "dump", "model_dump")
    ):
        for child in [
            *value.children,
            *(inner for key, inner in value.keywords if key in {"content", "data", "body", "()"}),
        ]:
            for each in child.walk() if child.shape != "dict" else [child]:
                if each.shape in {"dict", "name"} or (each.shape == "call" and each is not value):
                    yield from _keys(project, function, each, prefix, depth - 1)
                    break
        return
    klass = project.klass(function.path, value.name) if value.name[:1].isalpha() else None
    if klass is not None:
        for key, inner in value.keywords:
            if key in {"**", "()"}:
                continue
            if inner.shape == "call" and project.klass(function.path, inner.name) is not None and inner.keywords:
                yield from _keys(project, function, inner, f"{prefix}{key}.", depth - 1)
            else:
                yield f"{prefix}{key}", inner, function
        return
    for callee in project.callees(function, value.name):
        for inner in callee.returns:
            yield from _keys(project, callee, inner, prefix, depth - 1)


def _built(
    project: Project, function: Function, name: str, prefix: str, depth: int
) -> Iterator[tuple[str, Value, Function]]:
    """Follow a local variable: what it was assigned, and the keys that were added to it."""
    module = project.by_path[function.path]
    for store in module.stores:
        if store.function != function.qualname:
            continue
        if store.how == "name" and store.name == name and not store.op:
            if not (store.value.shape == "name" and store.value.name == name):
                yield from _keys(project, function, store.value, prefix, depth - 1)
        elif store.how == "item" and store.base == name:
            yield f"{prefix}{store.name}", store.value, function
