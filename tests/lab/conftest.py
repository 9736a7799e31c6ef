"""What the lab's tests share: a host with plain production on it, and the desk before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import Scene


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Scene:
    """One service, one watchdog, short times."""
    lay(machine)
    return Scene(tmp_path, machine)
