"""The crash matrix: whatever breaks, at whatever point, the host is as before in time, or was never touched."""

from __future__ import annotations

import pytest

from tests.lab.faults.cases import ALL, SLICE, Case
from tests.lab.faults.pool import Pool
from tests.lab.faults.results import Result

#: Seconds. Production's start is judged on a machine that runs three hosts on two cores.
SIGNAL_WITHIN, START_WITHIN, BOOT_WITHIN = 1.0, 1.0, 10.0


def report(result: Result) -> str:
    """Everything a person needs to see what went wrong."""
    return "\n".join((result.name, *result.trouble, result.words, *result.log))


def check(result: Result) -> None:
    """One case: the host as before, and in time."""
    assert result.outcome in ("restored", "refused"), report(result)
    assert (result.lease_to_signal or 0) <= SIGNAL_WITHIN, result
    assert (result.gone_to_start or 0) <= START_WITHIN, result
    assert (result.boot_leg or 0) <= BOOT_WITHIN, result


@pytest.mark.lab
@pytest.mark.parametrize("case", SLICE, ids=lambda case: case.name)
def test_slice(case: Case, pool: Pool) -> None:
    """Each fault once, each at another boundary: the host equals its snapshot, others' things are left alone."""
    check(pool.result(case))


@pytest.mark.lab
@pytest.mark.faults
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_matrix(case: Case, pool: Pool) -> None:
    """Every fault at every boundary: the host equals its snapshot, others' things are left alone."""
    check(pool.result(case))
