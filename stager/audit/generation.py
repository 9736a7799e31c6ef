"""Says which calls lead to generation: by their own name, or through the functions they reach."""

from __future__ import annotations

from stager.audit.facts import Function, Value
from stager.audit.project import Project
from stager.audit.vocabulary import is_generation, is_step

#: How many calls deep a generation is looked for; deeper chains are rarely the request's own path.
DEPTH = 5


class Generation:
    """Answers for one project, remembering what it found."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._paths: dict[tuple[str, str, int], tuple[str, ...] | None] = {}

    def path(self, function: Function, call: Value, depth: int = DEPTH) -> tuple[str, ...] | None:
        """Return the names from a call to the generation it leads to; None if none was found.

        A name that sounds like a generation but reaches only code of the project that does none still counts: the
        name is the project's own word for it.
        """
        given = bool(call.children or call.keywords) or call.consumed.startswith("handed to")
        if is_generation(call.name) and (given or is_step(call.name)):  # a generation needs to be told of what
            return (call.name,)
        if depth == 0:
            return None
        for callee in self.project.callees(function, call.name):
            inner = self.within(callee, depth - 1)
            if inner is not None:
                return (call.name, *inner)
        return None

    def within(self, function: Function, depth: int = DEPTH) -> tuple[str, ...] | None:
        """Return the names from a function's first generating call to the generation."""
        key = (function.path, function.qualname, depth)
        if key not in self._paths:
            self._paths[key] = None  # ends circles
            for event in function.calls:
                found = self.path(function, event.value, depth) if event.value is not None else None
                if found is not None:
                    self._paths[key] = found
                    break
        return self._paths[key]

    def first(self, function: Function) -> Value | None:
        """Return the first call of a function that leads to generation."""
        for event in function.calls:
            if event.value is not None and self.path(function, event.value) is not None:
                return event.value
        return None
