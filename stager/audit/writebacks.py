"""Finds settings whose writing or reading has no effect.

Written and never read; written back under a condition that cannot hold; read where nothing ever writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from stager.audit.facts import Branch, Function, Store, Value
from stager.audit.findings import DeadWriteBack
from stager.audit.limits import constant
from stager.audit.project import Project
from stager.audit.vocabulary import METRICS, is_capacity

#: Builtins that take an object and act on none of its attributes.
_INERT = frozenset({"id", "isinstance", "len", "print", "type"})


def find_write_backs(project: Project) -> list[DeadWriteBack]:
    """Return capacity settings whose writing or reading has no effect."""
    return [*_never_read(project), *_never_reached(project), *_never_written(project)]


def _is_read(project: Project, name: str) -> bool:
    return any(
        name in table
        for module in project.modules
        for table in (module.attribute_reads, module.key_reads, module.name_reads, module.strings)
    )


def _never_read(project: Project) -> Iterator[DeadWriteBack]:
    seen: set[str] = set()
    for name, stores in project.stores_named.items():
        written = [
            store for store in stores if store.how in {"attribute", "item"} and store.value.terminal not in METRICS
        ]
        if not is_capacity(name) or name in seen or _is_read(project, name):
            continue
        written = [store for store in written if not _out_of_sight(project, store)]
        if not written:
            continue
        seen.add(name)
        first = written[0]
        yield DeadWriteBack(
            name=f"{first.base}.{name}",
            file=first.path,
            line=first.line,
            why="it is written here, and nothing in the source reads the name: the value has no effect.",
        )


def _out_of_sight(project: Project, store: Store) -> bool:
    """Say whether what the name hangs on is a library's object, or is handed to code that was not read."""
    function = project.local(store.path, store.function)
    parts = store.base.split(".")
    if not isinstance(function, Function) or parts[0] in {"", "self", "cls"}:
        return False
    holders = set(accumulate(parts, "{}.{}".format))
    return any(
        _made_elsewhere(project, scope, parts[0]) or _handed_out(project, scope, holders)
        for scope in project.scopes(function)
    )


def _made_elsewhere(project: Project, scope: Function, name: str) -> bool:
    imports = project.by_path[scope.path].imports
    return any(
        made.value.shape == "call"
        and made.value.name.partition(".")[0] in imports
        and not project.callees(scope, made.value.name)
        and project.klass(scope.path, made.value.name) is None
        for made in project.stores_named.get(name, ())
        if not made.base and made.path == scope.path and made.function == scope.qualname
    )


def _handed_out(project: Project, scope: Function, holders: set[str]) -> bool:
    for event in scope.calls:
        call = event.value
        if call is None or call.name in _INERT:
            continue
        given = (*call.children, *(value for _, value in call.keywords))
        handed = any(part.shape == "name" and part.name in holders for value in given for part in value.walk())
        if handed and not project.callees(scope, call.name) and project.klass(scope.path, call.name) is None:
            return True
    return False


def _never_reached(project: Project) -> Iterator[DeadWriteBack]:
    """``if x is None: x = real`` where x was given a number before: the real value never arrives."""
    for function in project.functions:
        for branch in function.branches:
            test = branch.test
            if not test.text.endswith(" is None") or not test.children or test.children[0].shape != "name":
                continue
            base, _, name = test.children[0].name.rpartition(".")
            if not base or not is_capacity(name):
                continue
            yield from _blocked(project, function, branch, name)


def _blocked(project: Project, function: Function, branch: Branch, name: str) -> Iterator[DeadWriteBack]:
    stores = [s for s in project.stores_named.get(name, ()) if s.path == function.path and s.owner == function.owner]
    inside = [s for s in stores if s.function == function.qualname and branch.line < s.line <= branch.last]
    others = [store for store in stores if store not in inside and store.how == "attribute"]
    if inside and others and all(_never_none(project, store) for store in others):
        first = others[0]
        yield DeadWriteBack(
            name=f"{inside[0].base}.{name}",
            file=inside[0].path,
            line=inside[0].line,
            why=f"it is written back only where {name} is None, and {first.path}:{first.line} has set it to a number "
            "before: what is reported stays the configured value.",
        )


def _never_none(project: Project, store: Store) -> bool:
    scope = project.local(store.path, store.function)
    return isinstance(scope, Function) and constant(project, scope, store.value) is not None


def _never_written(project: Project) -> Iterator[DeadWriteBack]:
    """``getattr(x, "name", default)`` where no code ever gives anything that name."""
    for function in project.functions:
        for event in function.calls:
            call = event.value
            if call is None or call.name != "getattr" or len(call.children) != 3:
                continue
            name = call.children[1].constant
            if isinstance(name, str) and is_capacity(name) and not _written(project, name):
                yield DeadWriteBack(
                    name=name,
                    file=function.path,
                    line=call.line,
                    why=f"{call.text} always gives its default: nothing in the source sets {name}.",
                )


def _written(project: Project, name: str) -> bool:
    stores = [store for store in project.stores_named.get(name, ()) if not _is_metric(store.value)]
    declared = any(
        p.name == name for function in project.functions for p in function.parameters if not _metric_feed(function)
    )
    options = any(f"--{name.replace('_', '-')}" in m.strings or f"--{name}" in m.strings for m in project.modules)
    return any(store.base or store.how == "field" for store in stores) or options or declared


def _metric_feed(function: Function) -> bool:
    """Say whether a function only passes its arguments on to metrics."""
    return function.name.startswith(("emit", "log_", "observe", "record"))


def _is_metric(value: Value) -> bool:
    return value.shape == "call" and value.terminal in METRICS
