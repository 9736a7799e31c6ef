"""What tests/conftest.py promises to every test."""

from __future__ import annotations

import os
from pathlib import Path


def test_the_environment_is_nobodys(home: Path) -> None:
    """A test's HOME is an empty folder of its own, and no ssh agent can be reached."""
    assert list(home.iterdir()) == []
    assert "SSH_AUTH_SOCK" not in os.environ
    assert os.environ["STAGER_HOME"].startswith(str(home))
