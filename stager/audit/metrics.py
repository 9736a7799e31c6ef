"""Finds metrics that are published and never set, or that are only ever fed nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from stager.audit.facts import CALLEE, Function, Store, Value
from stager.audit.findings import DeadMetric
from stager.audit.project import Project
from stager.audit.vocabulary import METRIC_SETTERS, METRICS


@dataclass(slots=True)
class Metric:
    """A metric object, where it is made, and what is done with it."""

    store: Store
    title: str
    uses: list[tuple[Function, Value]] = field(default_factory=list)
    escapes: bool = False


def metrics(project: Project) -> list[Metric]:
    """Return every metric made in the source, with the calls that touch it."""
    found = [
        Metric(store, title)
        for module in project.modules
        for store in module.stores
        if store.how in {"attribute", "name", "field"}
        for title in (_title(project, store),)
        if title
    ]
    by_name: dict[str, list[Metric]] = defaultdict(list)
    for metric in found:
        by_name[metric.store.name].append(metric)
    for function in project.functions:
        for event in function.calls:
            if event.value is not None:
                for name in _touched(event.value) & by_name.keys():
                    for metric in by_name[name]:
                        metric.uses.append((function, event.value))
    for module in project.modules:
        for store in module.stores:
            for name in {each.terminal for each in store.value.walk() if each.shape == "name"} & by_name.keys():
                for metric in by_name[name]:
                    metric.escapes |= store.name != name and store is not metric.store
    return found


def _title(project: Project, store: Store) -> str:
    """Return a metric's published name if the value makes one; a collections.Counter or an enum is none."""
    call = store.value
    if call.shape != "call":
        return ""
    name = call.keyword("name") or (call.children[0] if call.children else None)
    text = call.keyword("documentation") or (call.children[1] if len(call.children) > 1 else None)
    if name is None or text is None or not isinstance(name.constant, str):
        return ""
    origin = project.by_path[store.path].imports.get(call.name.partition(".")[0], "")
    if origin.startswith(("collections", "enum", "typing")):
        return ""
    known = call.terminal in METRICS or call.keyword("documentation") is not None
    return name.constant if known and " " not in name.constant else ""


def _touched(call: Value) -> set[str]:
    names = set(call.name.split(".")[:-1]) if call.terminal in METRIC_SETTERS else set()
    # a callee that is more than a name (``gauge.labels(...).set``) is among the keywords
    for child in [*call.children, *(value for _, value in call.keywords)]:
        names |= {each.terminal for each in child.walk() if each.shape in {"name", "item"}}
        names |= {part for each in child.walk() if each.shape == "call" for part in each.name.split(".")}
    return names


def find_dead_metrics(project: Project) -> list[DeadMetric]:
    """Return the metrics that no code gives a value."""
    found = []
    for metric in metrics(project):
        why = _why_dead(project, metric)
        if why:
            store = metric.store
            found.append(DeadMetric(name=metric.title, file=store.path, line=store.line, why=why))
    return found


def _why_dead(project: Project, metric: Metric) -> str:
    store = metric.store
    if metric.escapes:
        return ""
    if not metric.uses:
        read = any(
            store.name in module.attribute_reads or (store.how != "attribute" and store.name in module.name_reads)
            for module in project.modules
        )
        return "" if read else "nothing in the source sets it: it stays at its first value for ever."
    uses = [(function, call) for function, call in metric.uses if call.consumed != "chained"]
    reasons = {_feeds_nothing(project, metric, function, call) for function, call in uses}
    return f"set only where {' and '.join(sorted(reasons))}." if "" not in reasons else ""


def _feeds_nothing(project: Project, metric: Metric, function: Function, call: Value) -> str:
    """Return why a use gives the metric no value; empty if it may give one."""
    if call.terminal == "labels":
        return "its labels are chosen and no value is given" if call.consumed == "statement" else ""
    given = [*call.children, *(value for key, value in call.keywords if key != CALLEE)]
    itself = metric.store.base + "." if metric.store.base else ""
    fed = [child for child in given if child.name != f"{itself}{metric.store.name}"]
    if not fed:
        return ""
    reasons = [_nothing(project, function, value) for value in fed]
    return reasons[0] if all(reasons) else ""


def _nothing(project: Project, function: Function, value: Value) -> str:
    if value.shape == "constant" and value.constant is None:
        return f"None is given ({function.path}:{value.line})"
    if value.shape != "name":
        return ""
    base, _, name = value.name.rpartition(".")
    if base:
        stores = [store for store in project.stores_named.get(name, ()) if store.base or store.how == "field"]
        if stores and all(_is_none(store.value) for store in stores):
            return f"{value.name} is given, which is never anything but None ({stores[0].path}:{stores[0].line})"
        return ""
    parameter = next((item for item in function.parameters if item.name == name), None)
    if parameter is None:
        return ""
    calls = [(scope, each) for scope, each in project.calls_named.get(function.name, ()) if scope is not function]
    if not calls:
        return ""
    places = []
    for scope, each in calls:
        given = project.argument(each, function, parameter) or parameter.default
        if given is None or not _is_none(given) or each.keyword("**") is not None:
            return ""
        places.append(f"{scope.path}:{given.line}")
    return f"{function.name} is given {name}, and every call passes None ({', '.join(places[:3])})"


def _is_none(value: Value) -> bool:
    return value.shape == "constant" and value.constant is None
