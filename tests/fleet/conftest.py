"""What the fleet's tests get: a fleet that is gone after the test, and a PostgreSQL server where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import postgres
from tests.fleet.bench import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A fleet with its queue in a file."""
    made = Fleet(tmp_path)
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[postgres.Postgres]:
    """A real PostgreSQL server; without its package the test is skipped, or fails where the lab is required."""
    if why := postgres.missing():
        pytest.fail(why) if os.environ.get("STAGER_LAB") == "required" else pytest.skip(why)
    with postgres.Postgres() as made:
        yield made
