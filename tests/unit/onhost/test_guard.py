"""A guard that cannot arm gives the host back: no entry of it is left for the next run to be refused by."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stager.onhost import guard, locks, opening
from stager.onhost.journal import Journal
from stager.onhost.state import Index, Run


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """A host of our own: its lock and its index."""
    index = Index(str(tmp_path / "open"))
    for module in (guard, locks, opening):
        monkeypatch.setattr(module, "Index", lambda: index)
    monkeypatch.setattr(locks, "shared_folder", lambda: str(tmp_path))
    return index


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that is about to get its guard."""
    run = Run(str(tmp_path / "state"), "run-1")
    run.make()
    Journal.create(run.journal_path, spec={"candidate": None}, owner={"holder": "ops@desk"})
    return run


def guarded(run: Run) -> int:
    """The guard, to its end, as a process of its own; its exit status."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = guard.main(run)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def spoil_fence(run: Run) -> None:
    """No number can be granted."""
    (Path(run.state) / "fence").mkdir()


def spoil_wake(run: Run) -> None:
    """The pipe on which it would be woken is gone."""
    os.unlink(run.wake_path)


@pytest.mark.parametrize("spoil", [spoil_fence, spoil_wake])
def test_a_guard_that_cannot_arm_leaves_no_entry(run: Run, index: Index, spoil: Callable[[Run], None]) -> None:
    """It says why, its entry is struck off, and the next run gets the host."""
    spoil(run)

    assert guarded(run) == 1

    assert json.loads(Path(run.at("guard.json")).read_text())["error"]["kind"] == "refused"
    assert index.entries() == []
    os.close(locks.take_host("run-2", index))


def test_a_guard_that_finds_the_host_held_strikes_nobody_off(run: Run, index: Index) -> None:
    """The other run's entry stays."""
    index.add("run-0", {"holder": "somebody"})

    assert guarded(run) == 1

    assert json.loads(Path(run.at("guard.json")).read_text())["error"]["kind"] == "held"
    assert [entry["run_id"] for entry in index.entries()] == ["run-0"]


def test_a_run_that_never_began_is_forgotten_whole(run: Run, index: Index) -> None:
    """A guard that entered it and fell silent leaves an entry; whoever opens gives up and takes that along."""
    index.add("run-1", {"holder": "ops@desk"})

    opening.forget(run)

    assert index.entries() == []
    assert not os.path.exists(run.folder)


def test_a_guard_that_cannot_look_ends_the_run_and_says_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it met is the run's reason, in the journal, and no trace in a log that nobody keeps."""
    Journal(run.journal_path).refresh()
    monkeypatch.setattr(guard, "services_of", lambda production: None)
    monkeypatch.setattr(guard.Ledger, "spec", {"production": {}})
    wake, other = os.pipe()
    watch = guard.Watch(run, wake)
    monkeypatch.setattr(watch, "wait", lambda: "")
    monkeypatch.setattr(guard.lease, "read", lambda of: {"torn": "record"})

    reason, by = watch.until_it_ends()

    assert reason.startswith("the guard failed: KeyError")
    assert by == "guard"
    os.close(wake)
    os.close(other)
