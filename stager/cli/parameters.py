"""Kinds of parameters several commands take."""

from __future__ import annotations

from typing import Any

import click


class DurationType(click.ParamType[float]):
    """A duration with its unit; the command gets seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Return seconds."""
        if isinstance(value, float):
            return value
        from stager.models.quantities import parse_duration

        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(f"{error}, found '{value}'", param, ctx)


class SizeType(click.ParamType[int]):
    """A size with its unit; the command gets bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        """Return bytes."""
        if isinstance(value, int):
            return value
        from stager.models.quantities import parse_size

        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(f"{error}, found '{value}'", param, ctx)


#: ``--hold 30m``
DURATION = DurationType()
#: ``--card 24GiB``
SIZE = SizeType()
