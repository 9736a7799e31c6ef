"""A number an engine shows: where it is read, what kind of number it is, and what sets it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stager.engines.prometheus import metric_sum


class Unreadable(ValueError):
    """The place where a number should be holds none."""


class Kind(StrEnum):
    """What a shown number really is (probes suite: configured fields come last)."""

    CONFIGURED = "configured"  # copied from configuration or a constant
    COMPUTED = "computed"  # worked out once at start
    MEASURED = "measured"  # counted while the engine runs


@dataclass(frozen=True, slots=True)
class Reading:
    """One number of one endpoint.

    Either ``metric`` (a Prometheus name; its series are summed) or ``pointer`` (RFC 6901 into the JSON body).
    Where the pointer leads to an array and ``each`` is set, the elements whose own pointer ``each`` is true are
    counted; with ``each`` equal to ``*`` all elements are.
    ``source`` is the line of code or configuration that sets it, or says that nobody has read it.
    """

    name: str
    path: str
    kind: Kind
    source: str
    metric: str = ""
    pointer: str = ""
    each: str = ""

    @property
    def where(self) -> str:
        """The place in the playbook's notation: ``/metrics#name`` or ``/health#/active``."""
        return f"{self.path}#{self.metric or self.pointer}{self.each and f'[{self.each}]'}"


def read(reading: Reading, body: bytes) -> Any:  # noqa: ANN401
    """Return the value a body shows: a number, a truth value or a text.

    Raises:
        Unreadable: the body is not of the format, or the place is not in it.
    """
    text = body.decode(errors="replace")
    if reading.metric:
        value = metric_sum(text, reading.metric)
        if value is None:
            raise Unreadable(f"no metric {reading.metric} at {reading.path}")
        return value
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{reading.path} did not answer with JSON") from error
    found = resolve(document, reading.pointer)
    if not reading.each:
        return found
    if not isinstance(found, list):
        raise Unreadable(f"{reading.where} is not an array")
    if reading.each == "*":
        return len(found)
    return sum(bool(resolve(item, reading.each)) for item in found)


def read_number(reading: Reading, body: bytes) -> float:
    """Return the value as a number; a truth value counts as 1 or 0.

    Raises:
        Unreadable: there is nothing, or it is neither a number nor a truth value.
    """
    value = read(reading, body)
    if isinstance(value, bool | int | float):
        return float(value)
    raise Unreadable(f"{reading.where} is {type(value).__name__}, not a number")


def resolve(document: Any, pointer: str) -> Any:  # noqa: ANN401
    """Follow a JSON pointer (RFC 6901).

    Raises:
        Unreadable: the pointer leads nowhere.
    """
    if not pointer:
        return document
    if not pointer.startswith("/"):
        raise Unreadable(f"{pointer!r} is not a JSON pointer: it does not begin with /")
    here = document
    for token in pointer[1:].split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isascii() and key.isdigit() and int(key) < len(here):
            here = here[int(key)]
        else:
            raise Unreadable(f"there is no {pointer}")
    return here
