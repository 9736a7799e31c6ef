"""The colours of plots, as the page's own variables, so that one picture serves light and dark.

A plot is drawn with the stand-in colours below; each is then replaced by the page's variable of that name.
"""

from __future__ import annotations

import re

#: Variable -> a stand-in colour that occurs nowhere else.
INKS = {
    "ink": "#010101",
    "faint": "#020202",
    "grid": "#030303",
    "a": "#040404",
    "b": "#050505",
    "c": "#060606",
    "d": "#070707",
    "good": "#080808",
    "bad": "#090909",
    "span": "#0a0a0a",
}

#: One for each stream, in turn.
STREAMS = ("a", "b", "c", "d")


def stream_ink(number: int) -> str:
    """Return the stand-in colour of a stream."""
    return INKS[STREAMS[number % len(STREAMS)]]


def inline_svg(svg: str, name: str, words: str) -> str:
    """Return a figure as an element of a page: no header, ids of its own, the page's colours and font, a spoken title.

    Args:
        svg: a whole SVG file as matplotlib writes it.
        name: unique in the page; begins every id.
        words: what the figure shows, for those who do not see it.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="|href="|url\()#', rf"\1#{name}-", body)
    for variable, colour in INKS.items():
        body = body.replace(colour, f"var(--plot-{variable})")
    body = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", body)
    body = re.sub(r"font-family: [^;\"]*;?", "", body)
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height|xmlns:xlink)="[^"]*"', "", head)
    head = head.replace("<svg", '<svg role="img" class="plot" xmlns:xlink="http://www.w3.org/1999/xlink"', 1)
    return f"{head}><title>{words}</title>{rest}"
