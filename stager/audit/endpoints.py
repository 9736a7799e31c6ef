"""Finds the routes of a server that can be asked with GET: by decorator, by registration, by comparing the path."""

from __future__ import annotations

from collections.abc import Iterator

from stager.audit.facts import Function, Value
from stager.audit.project import Project

_DECORATORS = frozenset({"get", "route", "api_route", "view"})
_REGISTERS = frozenset({"add_get", "add_route", "add_api_route", "add_url_rule", "get", "route", "Route"})


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
    handlers = list(call.children)
    handlers += [value for key, value in call.keywords if key in {"endpoint", "view_func", "handler"}]
    for path in _paths(call):
        for handler in handlers:
            for answered in _handlers(project, function, handler):
                yield path, answered


def _handlers(project: Project, function: Function, handler: Value) -> list[Function]:
    """Return the functions a registered handler is; ``Server(...).health`` is a method of the class it makes."""
    if handler.shape == "name":
        return project.callees(function, handler.name)
    if handler.shape == "Attribute" and handler.children[0].shape == "call":
        klass = project.klass(function.path, handler.children[0].name)
        method = project.method(klass, handler.terminal) if klass is not None else None
        return [method] if method is not None else []
    return []
