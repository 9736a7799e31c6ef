"""What a worker costs: its time and memory for so many hosts, each with one job, carried out by stand-ins."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stager.models.fleet import Job, Rollout
from tests.fleet.standin import bench
from tests.unit.fleet.cases import utc

NOW = utc("2026-11-29 22:00")


def jobs(count: int) -> Rollout:
    """One job for each of so many hosts; nothing in them is read by a stand-in."""
    made = tuple(
        Job(
            job_id=f"scale-{number:04d}", batch="scale", host=f"host{number}", name="p", path="/p.yaml",
            sha256="0" * 64, text="x" * 4000, release_key="", submitted=NOW, submitted_by="me@here",
        )
        for number in range(count)
    )  # fmt: skip
    return Rollout(batch="scale", waves=(made,), stop_after=count)


def cost(home: Path, count: int) -> tuple[float, float, float, float]:
    """Seconds to queue, seconds to carry out, seconds of the worker's CPU, its peak memory in MiB."""
    with bench(home, slots=32) as one:
        before = one.cpu()
        begun = time.monotonic()
        one.queue.submit(jobs(count))
        queued = time.monotonic() - begun
        took = one.until_over("scale", 1200)
        assert all(row.told and row.told.well for row in one.queue.rows())
        return queued, took, one.cpu() - before, one.peak()


@pytest.mark.parametrize(
    ("few", "many"),
    [(10, 100), pytest.param(100, 1000, marks=[pytest.mark.faults, pytest.mark.timeout(1800)])],
)
def test_time_and_memory_grow_no_faster_than_hosts(tmp_path: Path, few: int, many: int) -> None:
    """Ten times the hosts cost at most ten times the worker's own time, and hardly more memory."""
    small, large = cost(tmp_path / "small", few), cost(tmp_path / "large", many)

    for count, (queued, took, cpu, peak) in ((few, small), (many, large)):
        print(f"{count} hosts: queued in {queued:.1f} s, carried out in {took:.1f} s, {cpu:.1f} s CPU, {peak:.0f} MiB")
    assert large[2] < 10 * small[2] + 5
    assert large[3] < small[3] + 100
