"""Holding a run: never beyond its deadline or the candidate's runtime, and what cut a hold is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from stager.onhost import fence, holding, lease
from stager.onhost.channel import Channel
from stager.onhost.journal import Journal
from stager.onhost.ledger import Ledger
from stager.onhost.state import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with 1000 s until its deadline, whose candidate may run for 100 s and is not launched yet."""
    run = Run(str(tmp_path), "run")
    run.make()
    Journal.create(run.journal_path, spec={"candidate": {"runtime": 100}})
    lease.start(run, 5, 1000)
    return run


def hold(run: Run, seconds: float) -> dict[str, Any]:
    """Hold as a controller asks for it; nothing is said over its channel meanwhile."""
    channel = cast("Channel", None)
    return dict(holding.hold(channel, run, fence.grant(run), {"seconds": seconds, "who": "ops@desk"}))


def test_a_hold_that_fits_is_given_as_asked_for(run: Run) -> None:
    """Nothing cut it, and nothing says so."""
    told = hold(run, 50)
    assert told["limited_by"] == ""
    assert 49 < told["restore_in"] <= 50


def test_without_a_candidate_the_deadline_is_the_limit(run: Run) -> None:
    """Longer than what is left until then is cut to that, and it is said."""
    told = hold(run, 5000)
    assert told["limited_by"] == "guard/deadline"
    assert 999 < told["restore_in"] <= 1000


def test_a_candidates_runtime_counts_from_its_launch(run: Run) -> None:
    """A second hold for the whole of it is more than is left: cut to that, said, and on record for a reader."""
    Ledger(run).write("intent", "candidate.launch", {"op": "candidate.stop"})
    hold(run, 60)
    told = hold(run, 100)
    assert told["limited_by"] == "candidate/limits/runtime"
    assert 98 < told["restore_in"] < 100
    note = Ledger(run).journal.last("note", "hold")
    assert note
    assert (note["asked"], note["limited_by"]) == (100, "candidate/limits/runtime")
    assert note["seconds"] < 100
