"""How a model's own cross-checks report: all complaints at once, each with the path it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pydantic_core import PydanticCustomError

from stager.models.complaint import Path, key_path

#: The type pydantic shows for an error made here.
KIND = "several"


class Finding(NamedTuple):
    """One thing that does not fit together; paths count from the model that was checked.

    ``reads`` names the other values the check looked at: where one of them is itself wrong, the finding means nothing.
    """

    path: Path
    expected: str
    found: str
    reads: tuple[Path, ...] = ()


def refuse(findings: Iterable[Finding]) -> None:
    """Raise, inside a model's validator, all findings of a cross-check; return if there are none."""
    found = list(findings)
    if found:
        words = "; ".join(f"{key_path(one.path)}: expected {one.expected}, found {one.found}" for one in found)
        raise PydanticCustomError(KIND, "{words}", {"words": words, "findings": found})
