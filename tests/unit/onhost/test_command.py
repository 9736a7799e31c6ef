"""Services turned one by one by commands: in the order given, which is the playbook's down and its reverse up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stager.onhost.command import Command

CONTROL = """#!/bin/sh
cd {folder}
case $1 in
start) touch "$2"; echo "up $2" >> said ;;
stop) rm "$2"; echo "down $2" >> said ;;
status) test -e "$2" || exit 3 ;;
esac
"""


@pytest.fixture
def control(tmp_path: Path) -> str:
    """A script that keeps a file for each service that runs, and writes down what it was told."""
    path = tmp_path / "control"
    path.write_text(CONTROL.format(folder=tmp_path))
    path.chmod(0o755)
    for name in ("engine", "router"):
        (tmp_path / name).touch()
    return str(path)


def entry(control: str, name: str) -> dict[str, Any]:
    """A service as the spec has it."""
    return {"name": name, **{verb: [control, verb, name] for verb in ("start", "stop", "status")}}


def test_one_by_one_in_the_order_given(tmp_path: Path, control: str) -> None:
    """Each is waited for before the next is told; all obeyed."""
    services = Command([entry(control, "engine"), entry(control, "router")])
    assert services.stop(["router", "engine"], 10.0) == {}
    assert services.start(["engine", "router"], 10.0) == {}
    assert (tmp_path / "said").read_text().splitlines() == ["down router", "down engine", "up engine", "up router"]
