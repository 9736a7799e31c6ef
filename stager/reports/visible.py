"""Words of a server as a terminal may show them."""

from __future__ import annotations

import re

from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str, style: str = "") -> Text:
    """Return words that may be a server's for a terminal: no markup, and control characters shown, not obeyed."""
    return Text(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text), style=style)
