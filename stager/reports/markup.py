"""Building HTML without ever joining text and tags by hand: what is not ``Html`` is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

_VOID = {"br", "hr", "meta", "col"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: Html | str | float | None, **attributes: str | None) -> Html:
    """Return an element. A trailing underscore in an attribute's name is dropped (``class_``); None leaves it out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def table(*children: Html | None, class_: str | None = None) -> Html:
    """Return a table in a box of its own: where it is wider than the page, the box scrolls and the page does not."""
    return tag("div", tag("table", *children, class_=class_), class_="wide")


def join(children: Iterable[Html | str | float | None]) -> Html:
    """Return children one after the other, escaped where they are plain text."""
    return Html("".join(_text(child) for child in children if child is not None))


def _text(child: Html | str | float) -> str:
    return child if isinstance(child, Html) else html.escape(str(child))
