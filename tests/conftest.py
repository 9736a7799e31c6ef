"""What every test gets: a clean environment, and the lab's hosts for those that ask for one."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.rig import engine, place, roots
from tests.lab.rig.machine import Machine
from tests.lab.rig.slots import Slots

REQUIRED = os.environ.get("STAGER_LAB") == "required"
MISSING = place.missing()
NO_ENGINE = engine.missing()
FAILED = pytest.StashKey[bool]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """With STAGER_LAB=required a missing lab is a failure of the whole session, not a skip."""
    if REQUIRED and MISSING:
        pytest.exit(f"STAGER_LAB=required, but {MISSING}", returncode=3)


def pytest_report_header() -> str:
    """One line above the tests that says whether the lab is there."""
    return f"lab: {'not here: ' + MISSING if MISSING else place.LAB}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a host is a lab test, marked or not."""
    for item in items:
        if "machines" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.lab)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the lab, or the engine, from this one place, so that all of it folds into one visible line."""
    if MISSING and item.get_closest_marker("lab"):
        pytest.skip(MISSING)
    if NO_ENGINE and item.get_closest_marker("engine"):
        pytest.fail(NO_ENGINE) if REQUIRED else pytest.skip(NO_ENGINE)


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's home, ssh configuration or agent, nor writes to a real state folder."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STAGER_HOME", str(home / "stager"))
    for name in (
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def _slots() -> Iterator[Slots]:
    """The names and networks this session's hosts use; whatever a dead session left is swept first."""
    with Slots() as slots:
        yield slots


@pytest.fixture(scope="session")
def _kept(_slots: Slots) -> Iterator[dict[tuple[object, ...], list[Machine]]]:
    """The hosts of this session by kind, kept until it ends."""
    kept: dict[tuple[object, ...], list[Machine]] = {}
    yield kept
    for machine in (machine for there in kept.values() for machine in there):
        machine.destroy()


@pytest.fixture
def machines(
    _slots: Slots, _kept: dict[tuple[object, ...], list[Machine]], request: pytest.FixtureRequest
) -> Iterator[Callable[..., list[Machine]]]:
    """`machines(n, **kind)`: n clean, running hosts of a kind (the arguments of `Machine`).

    Where the test fails, the end of each host's log is printed.
    """
    used: list[Machine] = []

    def take(count: int, **kind: Any) -> list[Machine]:
        there = _kept.setdefault(tuple(sorted(kind.items())), [])
        for machine in there[:count]:
            machine.reset()
        while len(there) < count:
            there.append(_boot(_slots, kind))
        used.extend(there[:count])
        return there[:count]

    yield take
    if request.node.stash.get(FAILED, False):
        for machine in used:
            print(f"--- {machine.name} ({machine.suite}) ---\n{machine.last_words()}")


def _boot(slots: Slots, kind: dict[str, Any]) -> Machine:
    try:
        roots.root(kind.get("suite", "bookworm"))
    except RuntimeError as error:  # no way to the distribution's archive
        pytest.fail(str(error)) if REQUIRED else pytest.skip(f"the lab has no base root: {error}")
    return Machine(slots.take(), **kind)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, so that its hosts can have their say."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A clean, running bookworm host (systemd 252, Python 3.11, hybrid cgroups)."""
    return machines(1)[0]


@pytest.fixture
def old_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A clean, running bullseye host (systemd 247, Python 3.9)."""
    return machines(1, suite="bullseye")[0]


@pytest.fixture
def new_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A clean, running trixie host (systemd 257, Python 3.13)."""
    return machines(1, suite="trixie")[0]


@pytest.fixture
def unified_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A clean, running bookworm host with cgroup v2 alone."""
    return machines(1, unified=True)[0]


@pytest.fixture
def engine_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A clean, running bookworm host that sees the real engine and its model under /opt/engine."""
    return machines(1, read_only=engine.mounts())[0]


@pytest.fixture
def home() -> Path:
    """The test's own HOME."""
    return Path(os.environ["HOME"])
