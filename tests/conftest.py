"""What every test gets: a clean environment, and the lab's hosts for those that ask for one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
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


def pytest_configure() -> None:
    """Interrupt and hangup mean here what they mean at a terminal, also where whoever started us ignores them.

    A background job ignores SIGINT, nohup ignores SIGHUP, and every child inherits that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """With STAGER_LAB=required a missing lab is a failure of the whole session, not a skip."""
    if REQUIRED and MISSING:
        pytest.exit(f"STAGER_LAB=required, but {MISSING}", returncode=3)


def pytest_report_header() -> str:
    """One line above the tests that says whether the lab is there."""
    return f"lab: {'not here: ' + MISSING if MISSING else place.LAB}"


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marker
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


@pytest.fixture
def machines(_slots: Slots, request: pytest.FixtureRequest) -> Iterator[Callable[..., list[Machine]]]:
    """`machines(n, **kind)`: n new, running hosts of a kind (the arguments of `Machine`), gone after the test.

    A boot takes a third of a second on a quiet machine, so none is kept for a test to find used.
    Where the test fails, the end of each host's log is printed.
    """
    with ExitStack() as later:

        def boot(count: int, **kind: Any) -> list[Machine]:
            _root_or_skip(kind.get("suite", "bookworm"))
            return [one(kind) for _ in range(count)]

        def one(kind: dict[str, Any]) -> Machine:
            slot = _slots.take()
            later.callback(_slots.give_back, slot)
            machine = Machine(slot, **kind)
            later.callback(say, machine)
            return machine

        def say(machine: Machine) -> None:
            if request.node.stash.get(FAILED, False):
                print(f"--- {machine.name} ({machine.suite}) ---\n{machine.last_words()}")

        yield boot


def _root_or_skip(suite: str) -> None:
    try:
        roots.root(suite)
    except RuntimeError as error:  # no way to the distribution's archive
        pytest.fail(str(error)) if REQUIRED else pytest.skip(f"the lab has no base root: {error}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, so that its hosts can have their say."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A new, running bookworm host (systemd 252, Python 3.11, hybrid cgroups)."""
    return machines(1)[0]


@pytest.fixture
def old_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A new, running bullseye host (systemd 247, Python 3.9)."""
    return machines(1, suite="bullseye")[0]


@pytest.fixture
def new_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A new, running trixie host (systemd 257, Python 3.13)."""
    return machines(1, suite="trixie")[0]


@pytest.fixture
def unified_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A new, running bookworm host with cgroup v2 alone."""
    return machines(1, unified=True)[0]


@pytest.fixture
def engine_machine(machines: Callable[..., list[Machine]]) -> Machine:
    """A new, running bookworm host that sees the real engine and its model under /opt/engine."""
    return machines(1, read_only=engine.mounts())[0]


@pytest.fixture
def home() -> Path:
    """The test's own HOME."""
    return Path(os.environ["HOME"])
