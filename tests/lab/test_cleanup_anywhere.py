"""Taking a run down from any controller, with or without its playbook, on every systemd generation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import Scene


def test_from_another_controller(scene: Scene) -> None:
    """`cleanup --host` finds the run there, also from a state folder that knows nothing of it."""
    run_id = scene.stage()

    said = scene.stager("cleanup", "--host", str(scene.desk.playbook), home="another")

    assert said.code == 0, said.err
    assert said.document["run_id"] == run_id
    assert scene.differences() == []


def test_with_the_playbook_lost(scene: Scene) -> None:
    """Playbook, release and marker kinds are gone since: the host knows all that is needed."""
    run_id = scene.stage()
    shutil.rmtree(scene.desk.playbook.parent)
    shutil.rmtree(scene.folder / "markers")

    said = scene.stager("cleanup", run_id)

    assert said.code == 0, said.err
    assert scene.differences() == []


def test_with_the_playbook_changed(scene: Scene) -> None:
    """It names other services by now: what was stopped is what comes back."""
    run_id = scene.stage()
    scene.desk.write(production={"services": ["other.service"], "watchdogs": []})

    assert scene.stager("cleanup", run_id).code == 0
    assert scene.differences() == []


def test_anothers_live_run_needs_its_full_id_and_a_word(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another person's run is left alone; by its full id and --take-over it is taken down."""
    run_id = scene.stage()
    monkeypatch.setenv("LOGNAME", "somebody")
    where = str(scene.desk.playbook)

    assert scene.stager("cleanup", "--host", where, home="another").document == {"runs": [], "exit_code": 0}
    named = scene.stager("cleanup", run_id, "--host", where, home="another")
    assert named.code == 11, named.err
    assert "--take-over" in named.document["error"]["next"]
    short = scene.stager("cleanup", run_id[:-2], "--host", where, "--take-over", home="another")
    assert short.code == 11, short.err
    assert scene.open_runs() == [run_id]

    taken = scene.stager("cleanup", run_id, "--host", where, "--take-over", home="another")
    assert taken.code == 0, taken.err
    assert scene.differences() == []


def test_twice(scene: Scene) -> None:
    """A second cleanup changes nothing and tells the same end."""
    run_id = scene.stage()
    first = scene.stager("cleanup", run_id)
    second = scene.stager("cleanup", run_id)

    assert (first.code, second.code) == (0, 0), second.err
    assert first.document["cleanup"] == second.document["cleanup"]
    assert scene.differences() == []


def test_the_journal_is_readable(scene: Scene) -> None:
    """`show` tells a person what was done, when, how it was undone, and how it ended."""
    run_id = scene.stage()
    scene.stager("cleanup", run_id)

    said = scene.tell("show", run_id)

    assert said.code == 0, said.err
    for word in (
        "unit.stop",
        "prod.service",
        "marker.raise",
        "candidate.launch",
        "restored",
        "production was down for",
    ):
        assert word in said.out + said.err


@pytest.mark.parametrize("kind", [{"suite": "bullseye"}, {"suite": "trixie"}, {"unified": True}], ids=str)
def test_generations(tmp_path: Path, machines, kind: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    """systemd 247 with Python 3.9, systemd 257 with Python 3.13, and cgroup v2 alone: staged, held, restored."""
    (machine,) = machines(1, **kind)
    lay(machine)
    scene = Scene(tmp_path, machine)
    assert isinstance(machine, Machine)

    run_id = scene.stage()
    assert scene.unit("prod.service") == "inactive"
    said = scene.stager("cleanup", run_id)
    assert said.code == 0, said.err
    assert scene.differences() == []

    run_id = scene.stage("4s")  # and once by the guard alone
    scene.wait_verdict(run_id, "restored", 20)
    scene.wait_free()
    assert scene.differences() == []
