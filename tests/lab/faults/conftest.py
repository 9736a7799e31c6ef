"""The pool of hosts, and the table at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.faults.cases import Case, Fault
from tests.lab.faults.pool import Pool
from tests.lab.faults.results import Result, table

RESULTS = pytest.StashKey[list[Result]]()


@pytest.fixture(scope="session")
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Begins every case of this session at once, so far as there are hosts."""
    params = [getattr(item, "callspec", None) for item in request.session.items]
    cases = [call.params["case"] for call in params if call and isinstance(call.params.get("case"), Case)]
    pool = Pool(tmp_path_factory.mktemp("faults"), cases)
    yield pool
    pool.close()
    request.config.stash[RESULTS] = pool.results()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    if results := config.stash.get(RESULTS, []):
        terminalreporter.section("the crash matrix")
        terminalreporter.write_line(table(results, list(Fault)))
