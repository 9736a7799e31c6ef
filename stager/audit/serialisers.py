"""Finds locks and semaphores that let one generation run at a time, and those that only gate requests.

A lock serialises only if something inside it leads to generation; the finding names that call. Regions are read in
source order, so an ``acquire`` counts from its line to its ``release`` outside of an except block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stager.audit import vocabulary
from stager.audit.facts import Function, Value
from stager.audit.findings import Place, Serialiser
from stager.audit.generation import Generation
from stager.audit.interrupts import find_interrupts
from stager.audit.locks import Lock, Locks
from stager.audit.project import Project

_ROUTES = frozenset({"get", "post", "put", "route", "api_route", "websocket"})


@dataclass(frozen=True, slots=True)
class _Held:
    """A lock held at a line of a function."""

    lock: Lock
    function: Function
    line: int


class Serialisers:
    """Searches one project."""

    def __init__(self, project: Project, generation: Generation) -> None:
        self.project = project
        self.generation = generation
        self._locks = Locks(project)
        self._found: dict[tuple[str, int, str], Serialiser] = {}

    def find(self) -> list[Serialiser]:
        """Return every lock around a generation, and every rule by which one request ends another."""
        waits: list[tuple[_Held, Lock]] = []
        for function in self.project.functions:
            self._scan(function, waits)
        for held, inner in waits:  # a lock held while waiting for one that serialises does so too
            key = (inner.file, inner.line, inner.name)
            if key in self._found and key != (held.lock.file, held.lock.line, held.lock.name):
                call = Place(name=f"waits for {inner.name}", file=held.function.path, line=held.line)
                words = f"held while waiting for {inner.name}, which serialises: requests queue here, in front of it"
                self._add(held, call, words)
        return [*self._found.values(), *find_interrupts(self.project, self.generation)]

    def _scan(self, function: Function, waits: list[tuple[_Held, Lock]]) -> None:
        held: list[_Held] = []
        for event in function.events:
            if event.kind in {"acquire", "call"} and event.value is not None:
                ref = event.ref
                if event.kind == "call":
                    base, _, last = ref.rpartition(".")
                    if last not in {"acquire", "enter_context", "enter_async_context", "release"}:
                        self._inside(held, function, event.value)
                        continue
                    given = event.value.children[0].name if event.value.children else ""
                    ref = given if last.startswith("enter") else base
                    if last == "release":
                        if not event.in_handler:
                            held = [item for item in held if item.lock.name != ref.rpartition(".")[2]]
                        continue
                lock = self._locks.find(function, ref.removesuffix(".acquire"))
                if lock is not None:
                    waits.extend((_Held(item.lock, function, event.line), lock) for item in held)
                    held.append(_Held(lock, function, event.line))
            elif event.kind == "release":
                self._gate(
                    [item for item in held if item.lock.name == event.ref.rpartition(".")[2]], function, event.line
                )
                held = [item for item in held if item.lock.name != event.ref.rpartition(".")[2]]
            elif event.kind == "yield" and held:
                self._across_yield(held, function)

    def _inside(self, held: list[_Held], function: Function, call: Value) -> None:
        if not held:
            return
        path = self.generation.path(function, call)
        if path is None:
            return
        for item in held:
            place = Place(name=call.name, file=function.path, line=call.line)
            if call.terminal == vocabulary.CALL_NEXT:
                words = (
                    "held around call_next, which returns when the headers are sent: "
                    "it gates every route, health too, and limits no stream"
                )
                self._add(item, place, words, kind="middleware")
            else:
                self._add(item, place, f"{call.name} is called while it is held{_via(path)}")

    def _gate(self, ending: list[_Held], function: Function, last: int) -> None:
        """A lock that a route takes and gives back before it generates holds up requests, not generations."""
        if not ending or not any(value.terminal in _ROUTES for value in function.decorators):
            return
        slow = next(
            (
                e.value
                for e in function.calls
                if e.value and e.value.consumed == "await" and ending[0].line < e.line <= last
            ),
            None,
        )
        after = next(
            (e for e in function.calls if e.line > last and e.value and self.generation.path(function, e.value)), None
        )
        if slow is not None and after is not None:
            words = (
                f"every request to {function.name} passes through it before it generates; "
                f"while one is inside {slow.name}, all others wait"
            )
            self._add(ending[0], Place(name=slow.name, file=function.path, line=slow.line), words, kind="gate")

    def _across_yield(self, held: list[_Held], function: Function) -> None:
        """A generator that yields while it holds a lock lends it to whoever enters the generator."""
        for user, line in self._users(function):
            call = self.generation.first(user)
            if call is not None:
                words = (
                    f"held across the yield of {function.name}; {user.name} ({user.path}:{line}) enters it "
                    f"and calls {call.name} inside"
                )
                place = Place(name=call.name, file=user.path, line=call.line)
                for item in held:
                    self._add(item, place, words)

    def _users(self, function: Function) -> Iterator[tuple[Function, int]]:
        for user in self.project.functions:
            if user is function or not self._names(user, function.name):
                continue
            if function in self.project.callees(user, function.name):
                texts = (event for event in user.calls if event.value is not None)
                yield user, next((e.line for e in texts if e.value and function.name in e.value.text), user.line)

    @staticmethod
    def _names(user: Function, name: str) -> bool:
        if name in user.reads:
            return True
        defaults = [parameter.default for parameter in user.parameters if parameter.default is not None]
        return any(value.name == name for default in defaults for value in default.walk())

    def _add(self, held: _Held, around: Place, words: str, kind: Literal["", "middleware", "gate"] = "") -> None:
        lock = held.lock
        if lock.kind == "counted" and kind not in {"middleware", "gate"}:
            return  # a limit, not a serialiser: it is among the batch defaults
        key = (lock.file, lock.line, lock.name)
        if key not in self._found:
            self._found[key] = Serialiser(
                name=lock.name,
                file=lock.file,
                line=lock.line,
                kind=kind or ("semaphore" if lock.kind != "lock" else "lock"),
                held_at=Place(name=held.function.qualname, file=held.function.path, line=held.line),
                around=around,
                why=f"{lock.scope}: {words}.",
            )


def _via(path: tuple[str, ...]) -> str:
    return f" and leads to generation by {' → '.join(path)}" if len(path) > 1 else ""
