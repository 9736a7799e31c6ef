"""Finds serialisers that are no locks: an executor of one, a queue with one consumer, a call that blocks the loop."""

from __future__ import annotations

from collections.abc import Iterator

from stager.audit import vocabulary
from stager.audit.facts import Event, Function, Store, Value
from stager.audit.findings import Place, Serialiser
from stager.audit.generation import Generation
from stager.audit.project import Project

_STARTERS = frozenset({"Thread", "Process", "create_task", "ensure_future", "start_soon", "start_background_task"})


def find_workers(project: Project, generation: Generation) -> list[Serialiser]:
    """Return executors of one worker, queues with one consumer, and blocking calls, that lead to generation."""
    found: list[Serialiser] = []
    for function in project.functions:
        found.extend(_executors(project, generation, function))
        found.extend(_consumers(project, generation, function))
        if function.is_async:
            found.extend(_blocking(project, generation, function))
    unique = {(item.kind, item.file, item.line, item.name): item for item in reversed(found)}
    return sorted(unique.values(), key=lambda item: (item.file, item.line))


def _single(value: Value) -> bool:
    """Say whether a value makes an executor with one worker."""
    for each in value.walk():
        if each.shape == "call" and each.terminal in vocabulary.EXECUTORS:
            count = each.children[0] if each.children else each.keyword("max_workers") or each.keyword("processes")
            return count is not None and count.number == 1
    return False


def _made(project: Project, function: Function, ref: str, kinds: frozenset[str]) -> Store | None:
    """Return the one assignment that makes an object of these kinds under a name seen in a function."""
    base, _, name = ref.rpartition(".")
    stores = [
        store
        for store in project.stores_named.get(name, ())
        if any(each.shape == "call" and each.terminal in kinds for each in store.value.walk())
    ]
    if base in {"self", "cls"}:
        own = project.owner(function)
        lineage = {(k.path, k.qualname) for k in project.lineage(own)} if own is not None else set()
        return next((store for store in stores if (store.path, store.owner) in lineage), None)
    scopes = {scope.qualname for scope in project.scopes(function)} | {"<body>"}
    if not base:
        near = [store for store in stores if store.path == function.path and store.function in scopes]
        imported = name in project.by_path[function.path].imports
        return near[0] if near else stores[0] if imported and len(stores) == 1 else None
    return stores[0] if len({(store.path, store.owner) for store in stores}) == 1 else None


def _executors(project: Project, generation: Generation, function: Function) -> Iterator[Serialiser]:
    for event in function.calls:
        call = event.value
        if call is None or call.terminal not in {"run_in_executor", "submit"}:
            continue
        if call.terminal == "submit":
            pool, work = call.name.rpartition(".")[0], call.children[:1]
        else:
            pool, work = (call.children[0].name if call.children else ""), call.children[1:2]
        store = _made(project, function, pool, vocabulary.EXECUTORS) if pool else None
        if store is None or not _single(store.value) or not work:
            continue
        target = work[0]
        if target.shape == "call" and target.terminal == "partial" and target.children:
            target = target.children[0]
        inner = next((each for each in target.walk() if each.shape == "call"), None)
        reached = inner or Value("call", target.line, name=target.name, consumed=f"handed to {pool}")
        if reached.name and generation.path(function, reached) is not None:
            yield Serialiser(
                name=store.name,
                file=store.path,
                line=store.line,
                kind="executor",
                held_at=Place(name=function.qualname, file=function.path, line=call.line),
                around=Place(name=reached.name, file=function.path, line=call.line),
                why=f"one worker: {reached.name} runs there, so the next request's waits until this one has returned.",
            )


def _consumers(project: Project, generation: Generation, function: Function) -> Iterator[Serialiser]:
    """A loop that takes one item from a queue and runs a whole generation for it before it takes the next."""
    takes = [e for e in function.calls if e.looped and e.ref.rpartition(".")[2] in {"get", "get_nowait"}]
    for event in takes:
        store = _made(project, function, event.ref.rpartition(".")[0], vocabulary.QUEUES)
        if store is None or len([e for e in takes if e.ref.startswith(event.ref.rpartition(".")[0])]) > 1:
            continue  # one that takes several items before it works collects a batch
        later = (e for e in function.calls if e.looped and e.line >= event.line)
        work = next((e for e in later if _whole(generation, function, e)), None)
        if work is None or work.value is None or _started_often(project, function):
            continue
        yield Serialiser(
            name=store.name,
            file=store.path,
            line=store.line,
            kind="queue",
            held_at=Place(name=function.qualname, file=function.path, line=event.line),
            around=Place(name=work.value.name, file=function.path, line=work.line),
            why=f"one consumer, {function.qualname}, takes one item and calls {work.value.name} before the next.",
        )


def _whole(generation: Generation, function: Function, event: Event) -> bool:
    """Say whether a call runs a whole generation here, rather than one step of a batch or a task of its own."""
    if event.value is None or event.value.consumed.startswith("handed to"):
        return False
    path = generation.path(function, event.value)
    return path is not None and not vocabulary.is_step(path[-1]) and "batch" not in path[-1].lower()


def _started_often(project: Project, function: Function) -> bool:
    """Say whether the consumer is started in a loop, that is, more than once."""
    starts = 0
    for starter in project.functions:
        if function.name not in starter.reads and f"self.{function.name}" not in {e.ref for e in starter.calls}:
            continue
        for event in starter.calls:
            named = event.ref.rpartition(".")[2] == function.name and event.value is not None
            if named and event.value is not None and event.value.consumed.removeprefix("handed to ") in _STARTERS:
                starts += 2 if event.looped else 1
    return starts > 1


def _blocking(project: Project, generation: Generation, function: Function) -> Iterator[Serialiser]:
    """A plain function that generates or sleeps, called on the event loop itself."""
    for event in function.calls:
        call = event.value
        if call is None or call.consumed in {"await", "async for", "enter"} or call.consumed.startswith("handed to"):
            continue
        if call.name in vocabulary.BLOCKING and _answers(project, generation, function):
            words = f"{call.name} stops the event loop: no other request, health included, is served meanwhile"
        else:
            reached = project.callees(function, call.name)
            path = generation.path(function, call) if reached else None
            if path is None or any(each.is_async or _yields(each) or each.name == "__init__" for each in reached):
                continue
            if not any(_works(each, generation) for each in reached):
                continue
            words = (
                f"{call.name} is a plain function ({reached[0].path}:{reached[0].line}) called on the event loop: "
                "while it runs, nothing else is answered, health included"
            )
        yield Serialiser(
            name=call.name,
            file=function.path,
            line=call.line,
            kind="blocking-call",
            held_at=Place(name=function.qualname, file=function.path, line=function.line),
            around=Place(name=call.name, file=function.path, line=call.line),
            why=f"in {function.qualname}: {words}.",
        )


def _yields(function: Function) -> bool:
    return any(event.kind == "yield" for event in function.events)


def _works(function: Function, generation: Generation) -> bool:
    """Say whether a function does the work itself, rather than making an object that will."""
    return vocabulary.is_step(function.name) or generation.within(function) is not None


def _answers(project: Project, generation: Generation, function: Function) -> bool:
    """Say whether a function is on the path of a request: a route, or something that generates."""
    routed = any(value.terminal in {"get", "post", "route", "websocket"} for value in function.decorators)
    return routed or generation.within(function) is not None
