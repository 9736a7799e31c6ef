"""Names that are typed again or searched for stay in one piece, however narrow the terminal, and in a pipe."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

#: The ids of runs and jobs, digests, and their beginnings.
_NAME = re.compile(r"\b\d{8}[Tt]\d{6}[\w.-]*|\b[0-9a-f]{8,64}\b…?")
#: No column gets narrower than its longest word, or this.
_WORD = 12
#: Blanks and lines between two columns, at most.
_BETWEEN = 3


def keep_names_whole(renderable: Any) -> int:  # noqa: ANN401 - whatever rich can draw
    """Give each column of the tables in a value room for its longest name, and return the width that takes."""
    if isinstance(renderable, Group):
        return max(map(keep_names_whole, renderable.renderables), default=0)
    if isinstance(renderable, Padding):
        return keep_names_whole(renderable.renderable) + renderable.left + renderable.right
    if isinstance(renderable, Table):
        return sum(_room(column) + _BETWEEN for column in renderable.columns)
    return 0


def _room(column: Column) -> int:
    cells = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    name = max((len(name) for cell in cells for name in _NAME.findall(cell)), default=0)
    word = max((len(word) for cell in cells for word in cell.split()), default=0)
    column.min_width = max(name, min(word, _WORD))
    # A column of nothing but names is not the one to shrink first.
    column.no_wrap = column.no_wrap or 0 < max(map(len, cells)) <= name
    return max(map(len, cells)) if column.no_wrap else column.min_width
