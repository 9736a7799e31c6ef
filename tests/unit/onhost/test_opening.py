"""Opening a run: where no journal can be relied upon, nothing begins and nothing is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stager.onhost import legs, locks, opening
from stager.onhost.faults import Refused
from stager.onhost.journal import file_system_type

SPEC = {"candidate": None, "production": {"ports": []}, "guard": {"lease": 5, "deadline": 60}, "markers": []}


class Channel:
    """The little of a channel that opening needs."""

    program = "/nowhere/program.pyz"

    def __init__(self, state: str) -> None:
        self.state = state

    def say(self, event: str, **fields: Any) -> None:
        """Nobody listens."""

    def pulse(self) -> None:
        """Nothing ends the verb."""

    def take(self, run: object, number: int) -> None:
        """Never reached in these tests."""
        raise AssertionError("the run was opened")


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A state folder of our own; the host counts as free, and no guard may be started."""
    monkeypatch.setattr(locks, "busy_with", lambda *_: None)
    monkeypatch.setattr(opening.Index, "entries", lambda *_: [])
    monkeypatch.setattr(legs, "start_guard", lambda *_: pytest.fail("a guard was started"))
    return Channel(str(tmp_path / "state"))


def test_a_state_folder_on_a_remote_file_system(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither locks nor syncs can be relied upon there: refused, and the run's folder is gone again."""
    kind = file_system_type(os.path.dirname(channel.state))
    monkeypatch.setattr(opening, "REMOTE", (kind,))
    with pytest.raises(Refused, match=f"is on {kind}: neither its locks nor its syncs"):
        opening.open_run(channel, {"run_id": "r1", "spec": SPEC, "owner": {}})
    assert os.listdir(os.path.join(channel.state, "runs")) == []
