"""The changelog speaks of the version there is."""

from __future__ import annotations

import re
from pathlib import Path

from stager import __version__


def test_the_newest_entry_is_unreleased_or_this_version() -> None:
    """A release without an entry, or an entry for another version on top, fails."""
    text = (Path(__file__).resolve().parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[?([^\]\s]+)", text, re.MULTILINE)[0]
    assert newest in {"Unreleased", __version__}
