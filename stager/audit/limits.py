"""Collects every place that sets or narrows how many sequences run together, before they are put in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stager.audit.facts import Function, Parameter, Value
from stager.audit.project import Project
from stager.audit.vocabulary import is_capacity, is_capacity_flag


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """A command-line option: how it is spelled, where its value arrives, and what it is by default."""

    path: str
    line: int
    spelling: str
    dest: str
    default: Value | None
    function: Function
    kind: str


def flags(project: Project) -> Iterator[Flag]:
    """Yield every option declared with argparse, click or typer."""
    for function in project.functions:
        for event in function.calls:
            call = event.value
            if call is not None and call.terminal in {"add_argument", "option", "argument"}:
                kind = "argparse" if call.terminal == "add_argument" else "click"
                flag = _flag(function, call, kind)
                if flag is not None:
                    yield flag


def _flag(function: Function, call: Value, kind: str) -> Flag | None:
    words = [child.constant for child in call.children if isinstance(child.constant, str)]
    options = [word for word in words if word.startswith("-")]
    if not options or (
        kind == "click" and not call.name.startswith("click.") and call.name not in {"option", "argument"}
    ):
        return None
    given = call.keyword("dest")
    bare = [word for word in words if not word.startswith("-")]
    longest = next((word for word in options if word.startswith("--")), options[0])
    dest = longest.lstrip("-").partition("/")[0].replace("-", "_")
    if given is not None and isinstance(given.constant, str):
        dest = given.constant
    elif kind == "click" and bare:
        dest = bare[0]
    return Flag(function.path, call.line, "/".join(options), dest, call.keyword("default"), function, kind)


def constant(project: Project, function: Function, value: Value | None, depth: int = 4) -> int | float | None:
    """Return the number a value is, through names with one known value; None if reading does not tell."""
    if value is None or depth == 0:
        return None
    if value.number is not None:
        return value.number
    if value.shape == "call" and value.terminal in {"Field", "field", "int", "Option", "Argument"}:
        inner = value.keyword("default") or (value.children[0] if value.children else None)
        return constant(project, function, inner, depth - 1)
    if value.shape == "call" and value.terminal in {"get", "getenv", "getattr", "pop"} and len(value.children) > 1:
        inner = value.children[-1]
        text = inner.constant
        return int(text) if isinstance(text, str) and text.isdigit() else constant(project, function, inner, depth - 1)
    if value.shape == "BoolOp" or (value.shape == "call" and value.terminal in {"unwrap", "coalesce"}):
        return constant(project, function, value.children[-1], depth - 1) if value.children else None
    if value.shape == "IfExp":
        branches = [constant(project, function, child, depth - 1) for child in value.children[1:]]
        return min((branch for branch in branches if branch is not None), default=None)
    if value.shape != "name" or "." in value.name:
        return None
    for scope in project.scopes(function):
        found = next((p for p in scope.parameters if p.name == value.name), None)
        if found is not None:
            return constant(project, scope, found.default, depth - 1)
    scopes = {scope.qualname for scope in project.scopes(function)} | {"<body>"}
    named = project.stores_named.get(value.name, ())
    stores = [s for s in named if s.path == function.path and s.how == "name" and s.function in scopes]
    if len(stores) == 1:
        return constant(project, function, stores[0].value, depth - 1)
    return _imported(project, function, value.name, depth)


def _imported(project: Project, function: Function, name: str, depth: int) -> int | float | None:
    source = project.by_path[function.path].imports.get(name, "").rpartition(".")
    origin = project.module(source[0]) if source[0] else None
    stores = [s for s in project.stores_named.get(source[2], ()) if origin is not None and s.path == origin.path]
    body = project.local(origin.path, "<body>") if origin is not None else None
    if len(stores) == 1 and isinstance(body, Function):
        return constant(project, body, stores[0].value, depth - 1)
    return None


def capacity_parameters(project: Project) -> Iterator[tuple[Function, Parameter]]:
    """Yield parameters that are named like a limit."""
    for function in project.functions:
        for parameter in function.parameters:
            if is_capacity(parameter.name):
                yield function, parameter


def capacity_flags(project: Project) -> list[Flag]:
    """Return options that are named like a limit."""
    return [flag for flag in flags(project) if is_capacity(flag.dest) or is_capacity_flag(flag.dest)]
