"""Inline comments that accept a finding: ``stager: accept FINDING - reason``, on its line or the one above.

FINDING is the kind (``serialiser``) or the name (``gen_lock``). A comment without a reason accepts nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from stager.audit.findings import Acceptance, Field, Finding, Serialiser

Found = TypeVar("Found", bound=Finding)

_COMMENT = re.compile(rb"\bstager:\s*accept\b")
_MARKERS = ("#", "//", ";", "--")
_ACCEPT = re.compile(r"\bstager:\s*accept\s+(\S+)(?:\s+-+\s*(.*))?")


@dataclass(frozen=True, slots=True)
class Comment:
    """One accept comment."""

    file: str
    line: int
    what: str
    reason: str
    text: str


def comments(path: str, source: bytes) -> list[Comment]:
    """Return the accept comments of a file; in Python only true comments count, not strings."""
    if not _COMMENT.search(source):
        return []
    if path.endswith(".py"):
        try:
            tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
        except (tokenize.TokenError, SyntaxError, ValueError):
            return []  # named as broken elsewhere
        lines = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    else:
        every = enumerate(source.decode("utf-8", "replace").splitlines(), 1)
        lines = [(number, text) for number, text in every if any(mark in text for mark in _MARKERS)]
    found = ((number, text, _ACCEPT.search(text)) for number, text in lines if "stager:" in text)
    return [
        Comment(path, number, match.group(1), (match.group(2) or "").strip(), text.strip())
        for number, text, match in found
        if match is not None
    ]


def apply(findings: Iterable[Found], every: Iterable[Comment], used: set[Comment]) -> tuple[Found, ...]:
    """Return the findings with the reasons that accept them; the comments that did are added to ``used``."""
    by_line: dict[tuple[str, int], list[Comment]] = {}
    for comment in every:
        if comment.reason:
            by_line.setdefault((comment.file, comment.line), []).append(comment)
            by_line.setdefault((comment.file, comment.line + 1), []).append(comment)
    accepted = []
    for finding in findings:
        near = (comment for place in _places(finding) for comment in by_line.get(place, ()))
        match = next((comment for comment in near if _names(comment.what, finding)), None)
        if match is not None:
            used.add(match)
            finding = finding.model_copy(update={"accepted": match.reason})
        accepted.append(finding)
    return tuple(accepted)


def _places(finding: Finding) -> list[tuple[str, int]]:
    """Return the lines a finding can be accepted on: where it is, and where it shows."""
    places = [(finding.file, finding.line)]
    if isinstance(finding, Field):
        places.append((finding.returned_at.file, finding.returned_at.line))
    if isinstance(finding, Serialiser):
        places.extend((place.file, place.line) for place in (finding.held_at, finding.around) if place is not None)
    return places


def _names(what: str, finding: Finding) -> bool:
    return what in {finding.kind_name, finding.name, finding.name.rpartition(".")[2]} or what in finding.name.split("/")


def void(every: Iterable[Comment], used: set[Comment]) -> tuple[Acceptance, ...]:
    """Return the comments that accepted nothing, each with why."""
    return tuple(
        Acceptance(
            file=comment.file,
            line=comment.line,
            text=comment.text,
            problem="it gives no reason" if not comment.reason else "no finding of that kind or name is on this line",
        )
        for comment in every
        if comment not in used
    )
