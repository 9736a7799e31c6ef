"""What one look at one Python file yields: small values that outlive its syntax tree.

Trees are dropped file by file, so that a source of any size is read in bounded memory; whatever an analysis
needs is kept here. Names are dotted text (``self.cache.num_slots``) and are resolved later, across files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final


class Unknown:
    """The constant of an expression that is none."""


UNKNOWN: Final = Unknown()
#: The keyword under which a call keeps what it calls, where that is more than a dotted name.
CALLEE: Final = "()"
Constant = int | float | str | bool | None | Unknown


@dataclass(slots=True, eq=False)
class Value:
    """An expression. ``shape`` is ``constant``, ``name``, ``call``, ``dict``, ``item`` or the syntax node's own name.

    ``name`` is the dotted name read, the callee's, or, of an item, ``base[key]``; ``consumed`` says what becomes of
    a call's result (``await``, ``async for``, ``enter``, ``handed to NAME``, ``return``, ``statement`` or empty).
    """

    shape: str
    line: int
    name: str = ""
    text: str = ""
    constant: Constant = UNKNOWN
    children: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    consumed: str = ""

    def walk(self) -> Iterator[Value]:
        """Yield this value and everything inside it."""
        yield self
        for child in self.children:
            yield from child.walk()
        for _, child in self.keywords:
            yield from child.walk()

    def keyword(self, name: str) -> Value | None:
        """Return the value of one keyword argument or dictionary key."""
        return next((value for key, value in self.keywords if key == name), None)

    @property
    def terminal(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def number(self) -> int | float | None:
        """The constant as a number, if it is one (True and False are not)."""
        value = self.constant
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(slots=True, eq=False)
class Event:
    """Something a function does, in source order: acquire, release, call, yield, store, loop or interrupt."""

    kind: str
    line: int
    ref: str = ""
    value: Value | None = None
    looped: bool = False
    in_handler: bool = False
    in_finally: bool = False


@dataclass(slots=True, eq=False)
class Branch:
    """A condition, the lines of its body, and whether the body ends the work (return, raise, break)."""

    test: Value
    line: int
    last: int
    ends: bool


@dataclass(slots=True, eq=False)
class Parameter:
    """One parameter of a function, with the text of its annotation."""

    name: str
    line: int
    annotation: str = ""
    default: Value | None = None


@dataclass(slots=True, eq=False)
class Function:
    """A function or method, or a module's or class's own body (``<body>``)."""

    path: str
    qualname: str
    name: str
    line: int
    owner: str = ""
    parent: str = ""
    is_async: bool = False
    parameters: list[Parameter] = field(default_factory=list)
    decorators: list[Value] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)

    @property
    def calls(self) -> Iterator[Event]:
        """The calls it makes, in order."""
        return (event for event in self.events if event.kind == "call")


@dataclass(slots=True, eq=False)
class Store:
    """An assignment. ``base`` is what the name hangs on (``self``, ``config``, empty); ``op`` is ``+`` for ``+=``."""

    path: str
    line: int
    base: str
    name: str
    value: Value
    function: str
    owner: str = ""
    how: str = "name"
    op: str = ""
    annotation: str = ""
    in_finally: bool = False


@dataclass(slots=True, eq=False)
class Class:
    """A class with the text of its bases and decorators."""

    path: str
    qualname: str
    name: str
    line: int
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Module:
    """Everything kept of one file. The read tables map a name to the first line that reads it."""

    path: str
    dotted: str
    lines: int = 0
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    attribute_reads: dict[str, int] = field(default_factory=dict)
    name_reads: dict[str, int] = field(default_factory=dict)
    key_reads: dict[str, int] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    key_paths: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
