import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from stager.engines.openai import OPENAI
from stager.errors import Stopped
from stager.models.base import Model
from stager.models.evidence import Verdict
from stager.probes.base import run_probe
from stager.probes.target import Target

TARGET = Target("http://127.0.0.1:9", OPENAI, "m")


class NoParameters(Model):
    """Nothing to set."""

    seconds: float = 0.2


class Trial:
    """A probe that does what it is given."""

    name = "trial"
    version = 1
    claims = ("one", "two")
    parameters = NoParameters
    thresholds: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, act) -> None:
        self._act = act

    def time_limit(self, parameters: NoParameters) -> float:
        return parameters.seconds

    async def run(self, target, parameters):
        return await self._act()


def run(act, **parameters):
    return asyncio.run(run_probe(Trial(act), TARGET, NoParameters(**parameters)))


def test_a_broken_probe_gives_error_for_each_claim() -> None:
    """An exception in a probe is evidence of nothing: one error finding per claim, with its words."""

    async def broken():
        raise RuntimeError("a bug")

    results = run(broken)
    assert [(r.finding.claim, r.finding.verdict) for r in results] == [("one", Verdict.ERROR), ("two", Verdict.ERROR)]
    assert "a bug" in results[0].finding.reasons[0]
    assert results[0].finding.sample_count == 0
    assert results[0].finding.not_proven


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_signal_is_no_fault_of_the_probe(wrapped: bool) -> None:
    """Its exception may come up in the probe's own code: stager ends with it, and nothing is said of the engine."""

    async def hit():
        raise ExceptionGroup("tasks", [Stopped(15)]) if wrapped else Stopped(15)

    with pytest.raises(Stopped):
        run(hit)


def test_the_first_exception_of_a_group_is_named() -> None:
    """A task group's wrapper does not hide what went wrong."""

    async def broken():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(60))
            raise LookupError("inner")

    assert "LookupError: inner" in run(broken)[0].finding.reasons[0]


def test_a_probe_over_its_time_is_stopped_and_never_passes() -> None:
    """The time limit ends the probe, lets it clean up, and gives an error."""
    cleaned = []

    async def endless():
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    results = run(endless)
    assert {r.finding.verdict for r in results} == {Verdict.ERROR}
    assert results[0].finding.termination.reason == "time limit"
    assert cleaned == [True]


def test_a_cancelled_run_is_aborted_and_the_caller_can_tell() -> None:
    """Cancellation gives aborted findings, stops the probe, and stays visible on the task."""

    async def go():
        stopped = []

        async def long():
            try:
                await asyncio.sleep(60)
            finally:
                stopped.append(True)

        async def caller():
            results = await run_probe(Trial(long), TARGET, NoParameters(seconds=60))
            return results, asyncio.current_task().cancelling()

        task = asyncio.ensure_future(caller())
        await asyncio.sleep(0.05)
        task.cancel()
        return *await task, stopped

    results, cancelling, stopped = asyncio.run(go())
    assert {r.finding.verdict for r in results} == {Verdict.ABORTED}
    assert cancelling == 1
    assert stopped == [True]


def test_a_fault_of_the_interpreter_is_not_evidence() -> None:
    """What is no ordinary exception goes through."""

    async def leaves():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(leaves)


def test_a_good_probe_keeps_its_results() -> None:
    """What a probe returns in time is returned as it is."""

    async def good():
        return ("kept",)

    assert run(good) == ("kept",)
