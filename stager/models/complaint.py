"""One complaint about a file an operator wrote, and the error that carries all of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from stager.errors import InvalidFile

Path = tuple[str | int, ...]


@dataclass(frozen=True, order=True)
class Complaint:
    """What is wrong at one place: line and column count from 1, ``path`` is a key path (``production/healthy/n``)."""

    file: str
    line: int
    column: int
    path: str
    expected: str
    found: str
    hint: str = ""

    def __str__(self) -> str:
        """One sentence: place, key path, what was expected, what was found."""
        where = f"{self.file}:{self.line}:{self.column}:"
        key = f" {self.path}:" if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{key} expected {self.expected}, found {self.found}.{hint}"


def key_path(path: Path) -> str:
    """Write a path the way people read it: ``candidate/launch/2``."""
    return "/".join(str(part) for part in path)


def invalid(complaints: Iterable[Complaint], *, next: str = "") -> InvalidFile:  # noqa: A002
    """Return the error that says all of them at once, in the order of the files' lines; next is to edit the first."""
    ordered = sorted(set(complaints))
    documents = [asdict(complaint) for complaint in ordered]
    edit = f"${{EDITOR:-vi}} +{ordered[0].line} {shlex.quote(ordered[0].file)}" if ordered else ""
    return InvalidFile("\n".join(map(str, ordered)), next=next or edit, complaints=documents)
