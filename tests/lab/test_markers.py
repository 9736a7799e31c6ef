"""Our marker, after somebody has been at it: anything but exactly what we made stays, and is reported."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.scene import MARKER, Scene


def touched(machine: Machine) -> None:
    os.utime(machine.path(MARKER))


def same_size(machine: Machine) -> None:
    path = machine.path(MARKER)
    path.write_bytes(b"y" * path.stat().st_size)


def same_size_and_mtime(machine: Machine) -> None:
    path = machine.path(MARKER)
    seen = path.stat()
    path.write_bytes(b"z" * seen.st_size)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def replaced(machine: Machine) -> None:
    path = machine.path(MARKER)
    seen = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    other.rename(path)


def linked(machine: Machine) -> None:
    path = machine.path(MARKER)
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def folder(machine: Machine) -> None:
    machine.path(MARKER).unlink()
    machine.path(MARKER).mkdir()


def parent_renamed(machine: Machine) -> None:
    machine.path("/run/llama").rename(machine.path("/run/llama.old"))
    machine.path("/run/llama").mkdir()


def removed(machine: Machine) -> None:
    machine.path(MARKER).unlink()


CHANGES = [touched, same_size, same_size_and_mtime, replaced, linked, folder, parent_renamed, removed]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_marker_is_left_and_reported(scene: Scene, change: Callable[[Machine], None]) -> None:
    """Whatever stands there now, or in whatever folder: it stays, and cleanup says so (8)."""
    kind = scene.folder / "markers" / "maintenance.yaml"
    kind.write_text(kind.read_text() + "content: 'stager {run_id}'\n")
    run_id = scene.stage()
    change(scene.machine)
    after = scene.machine.sh(
        "sh", "-c", f"find /run/llama* -printf '%p %y %T@ %s\\n'; cat {MARKER}", check=False
    ).stdout

    said = scene.stager("cleanup", run_id)

    assert said.code == 8, said.err
    (left,) = said.document["cleanup"]["left"]
    assert left["path"] == MARKER
    assert left["why"]
    assert said.document["cleanup"]["markers_cleared"] == []
    now = scene.machine.sh("sh", "-c", f"find /run/llama* -printf '%p %y %T@ %s\\n'; cat {MARKER}", check=False).stdout
    assert now == after
    for old in ("/run/llama.old",):
        shutil.rmtree(scene.machine.path(old), ignore_errors=True)
    assert scene.differences(but=("files",)) == []


def test_a_marker_that_is_ours_is_cleared(scene: Scene) -> None:
    """Untouched, it goes, and it alone: a file beside it stays."""
    scene.machine.write("/run/llama/beside", "not ours")
    run_id = scene.stage()

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert said.document["cleanup"]["markers_cleared"] == [MARKER]
    assert scene.machine.read("/run/llama/beside") == "not ours"
