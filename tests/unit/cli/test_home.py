"""Where the controller's state lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.cli.home import stager_home


def test_its_own_variable_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """$STAGER_HOME wins over everything, and is made absolute."""
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    monkeypatch.setenv("STAGER_HOME", str(tmp_path))
    assert stager_home() == tmp_path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STAGER_HOME", "here")
    assert stager_home() == tmp_path / "here"


def test_otherwise_it_is_in_the_xdg_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative XDG folder is ignored, as the specification says."""
    monkeypatch.delenv("STAGER_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert stager_home() == Path("/xdg/stager")
    for value in ("relative", ""):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert stager_home() == Path.home() / ".local" / "state" / "stager"
