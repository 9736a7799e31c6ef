"""Finds the rule by which one request ends another: a branch that ends the work because somebody waits for the lock."""

from __future__ import annotations

from collections.abc import Iterator

from stager.audit.facts import Branch, Function, Value
from stager.audit.findings import Place, Serialiser
from stager.audit.generation import Generation
from stager.audit.project import Project


def find_interrupts(project: Project, generation: Generation) -> Iterator[Serialiser]:
    """Yield the branches of generating functions that ask for a lock's state and end the work."""
    for function in project.functions:
        for branch in function.branches:
            asked = next((v for v in branch.test.walk() if v.shape == "call" and v.terminal == "locked"), None)
            call = generation.first(function) if branch.ends and asked is not None else None
            if asked is not None and call is not None:
                yield _rule(project, function, branch, asked.name.rpartition(".")[0], call)


def _rule(project: Project, function: Function, branch: Branch, lock: str, call: Value) -> Serialiser:
    setting = _setting(project, branch.test)
    return Serialiser(
        name=f"interrupt on {lock}",
        file=function.path,
        line=branch.line,
        kind="interrupt-rule",
        held_at=Place(name=function.qualname, file=function.path, line=branch.line),
        around=Place(name=call.name, file=function.path, line=call.line),
        why=f"while it generates, a request waiting for {lock} ends this one's stream{setting}.",
    )


def _setting(project: Project, test: Value) -> str:
    """Return what a setting in the test is by default, and where."""
    for value in test.walk():
        for store in project.stores_named.get(value.terminal, ()) if value.shape == "name" else ():
            default = store.value.keyword("default") or store.value
            if store.how == "field" and isinstance(default.constant, bool):
                return f"; {store.name} is {default.constant} by default ({store.path}:{store.line})"
    return ""
