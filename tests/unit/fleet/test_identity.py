"""One worker for each state folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import Refused
from stager.fleet.identity import only_one


def test_one_worker_serves_a_state_folder(tmp_path: Path) -> None:
    """A second one is refused with the first one's name; after it another may, under a name of its own."""
    with only_one(tmp_path) as first, pytest.raises(Refused, match=first.process), only_one(tmp_path):
        pass
    with only_one(tmp_path) as second:
        assert (second.folder, second.process != first.process) == (first.folder, True)
