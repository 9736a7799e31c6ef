"""Quantities an operator writes with a unit: durations (seconds in code) and sizes (bytes in code)."""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

#: Longest first; a duration names each unit at most once, in this order.
_SECONDS: dict[str, Decimal] = {
    "d": Decimal(86400),
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("0.001"),
}

_BYTES: dict[str, int] = {
    "TiB": 2**40,
    "TB": 10**12,
    "GiB": 2**30,
    "GB": 10**9,
    "MiB": 2**20,
    "MB": 10**6,
    "KiB": 2**10,
    "kB": 10**3,
    "B": 1,
}

_NUMBER = r"\d{1,18}(?:\.\d{1,9})?"
_DURATION = re.compile(
    rf"(?:({_NUMBER})d)?(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?(?:({_NUMBER})ms)?", re.ASCII
)
_SIZE = re.compile(rf"({_NUMBER}) ?([A-Za-z]+)", re.ASCII)

EXPECTED_DURATION = "a duration with its unit, such as 90s, 30m or 1h30m"
EXPECTED_SIZE = "a size with its unit, such as 20GiB or 500MB"


def parse_duration(text: str) -> float:
    """Return the seconds a text such as ``1h30m`` means.

    Raises:
        ValueError: the text is no duration; the message says what was expected.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ValueError(f"expected {EXPECTED_DURATION}")
    parts = zip(match.groups(), _SECONDS.values(), strict=True)
    return float(sum((Decimal(number) * unit for number, unit in parts if number), Decimal(0)))


def format_duration(seconds: float) -> str:
    """Return the shortest text that ``parse_duration`` reads back as the same number of seconds."""
    rest = Decimal(repr(float(seconds)))
    if rest == 0:
        return "0s"
    words = []
    for unit, size in _SECONDS.items():
        if unit == "ms":
            break
        count = rest if unit == "s" else rest // size
        if count:
            words.append(f"{count.normalize():f}{unit}")
        rest -= count * size
    return "".join(words)


def parse_size(text: str) -> int:
    """Return the bytes a text such as ``20GiB`` means; ``GB`` is 10^9 and ``GiB`` is 2^30.

    Raises:
        ValueError: the text is no size; the message says what was expected.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected {EXPECTED_SIZE}")
    number, unit = match.groups()
    if unit not in _BYTES:
        near = [name for name in _BYTES if name.lower() in (unit.lower(), f"{unit.lower()}b", f"{unit.lower()}ib")]
        raise ValueError(f"expected a unit out of {', '.join(near or _BYTES)}")
    size = Decimal(number) * _BYTES[unit]
    if size != size.to_integral_value():
        raise ValueError("expected a whole number of bytes")
    return int(size)


def format_size(size: int) -> str:
    """Return the text with the largest unit that divides the size exactly."""
    for unit, factor in _BYTES.items():
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


def _read_duration(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise PydanticCustomError("quantity", "{expected}", {"expected": _bare(error)}) from None
    # Code may give seconds; a file must say the unit, because 90 may be meant as minutes.
    if info.mode == "json" or isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < inf:
        raise PydanticCustomError("quantity", "{expected}", {"expected": EXPECTED_DURATION})
    return float(value)


def _read_size(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError as error:
            raise PydanticCustomError("quantity", "{expected}", {"expected": _bare(error)}) from None
    if info.mode == "json" or isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise PydanticCustomError("quantity", "{expected}", {"expected": EXPECTED_SIZE})
    return value


def _bare(error: ValueError) -> str:
    return str(error).removeprefix("expected ")


#: Seconds, written ``90s``, ``30m``, ``1h30m``; serialised back to that form in JSON.
Duration = Annotated[
    float,
    BeforeValidator(_read_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "description": EXPECTED_DURATION}),
]

#: Bytes, written ``20GiB``, ``500MB``; serialised back to that form in JSON.
Size = Annotated[
    int,
    BeforeValidator(_read_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "description": EXPECTED_SIZE}),
]
