"""What a worker costs: its time and memory for so many hosts, each with one job; only the hosts are simulated."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from stager.clock import SystemClock
from stager.fleet.files import submission
from stager.fleet.jobs import new_batch
from tests.fleet.standin import bench

CARRY = (sys.executable, str(Path(__file__).with_name("simulated.py")))
PLAYBOOK = {
    "stager": 1,
    "name": "simulated",
    "host": {"address": "replaced"},
    "candidate": {
        "launch": ["/usr/bin/engine", "--port", "{port}"],
        "engine": "llama.cpp",
        "model": "lab",
        "port": 18080,
        "limits": {"runtime": "10m"},
    },
    "production": {"manager": "systemd", "services": ["prod.service"], "watchdogs": ["watchdog.timer"]},
    "probes": {"overlap": {"streams": 2, "max_tokens": 80}},
}


def fleet_file(folder: Path, count: int) -> Path:
    """A fleet of so many hosts, all in one wave."""
    folder.mkdir(parents=True)
    (folder / "p.yaml").write_text(yaml.safe_dump(PLAYBOOK))
    hosts = {f"host{number}": {"address": f"host{number}", "groups": ["all"]} for number in range(count)}
    document = {
        "stager": 1,
        "name": "scale",
        "candidates": {"p": "p.yaml"},
        "hosts": hosts,
        "place": [{"candidate": "p", "on": ["all"]}],
        "waves": {"size": count, "stop_after": count},
    }
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@dataclass(frozen=True)
class Cost:
    """Seconds until the jobs were queued, and carried out; seconds of CPU and MiB of the worker; CPU of the runs."""

    hosts: int
    queued: float
    took: float
    cpu: float
    peak: float
    runs_cpu: float

    @property
    def share(self) -> float:
        """The worker's time beside its runs': these cost the same for every host, so a busy machine cancels out."""
        return self.cpu / self.runs_cpu

    def row(self) -> str:
        """A row of the table in bench/README.md."""
        per = 1000 * self.cpu / self.hosts
        figures = f"{self.queued:.1f} s | {self.took:.0f} s | {self.cpu:.1f} s | {per:.0f} ms | {self.peak:.0f} MiB"
        return f"| {self.hosts:,} | {figures} | {self.runs_cpu / self.hosts:.1f} s |"


def cost(home: Path, count: int, slots: int = 8) -> Cost:
    """Carry out one job on each of so many hosts."""
    path = fleet_file(home / "files", count)
    with bench(home, CARRY, slots, polling=1.0) as one:
        before = one.cpu()
        begun = time.monotonic()
        rollout = submission([path], new_batch(SystemClock().now()), SystemClock().now())
        one.queue.submit(rollout)
        queued = time.monotonic() - begun
        took = one.until_over(rollout.batch, 3000)
        rows = one.queue.rows(batch=rollout.batch)
        assert len({row.run_id for row in rows}) == count
        endings = {(row.told.ending, row.told.exit_code) for row in rows if row.told}
        assert endings <= {("done", 0), ("done", 6)}, endings  # on a busy machine a claim may be inconclusive
        assert all(row.told and row.told.record and row.told.record["evidence"] for row in rows)
        return Cost(count, queued, took, one.cpu() - before, one.peak(), one.runs_cpu())


@pytest.mark.parametrize(
    ("few", "many"),
    [(10, 40), pytest.param(100, 1000, marks=[pytest.mark.scale, pytest.mark.timeout(7200)])],
)
def test_time_and_memory_grow_no_faster_than_hosts(tmp_path: Path, few: int, many: int) -> None:
    """Beside its runs, which cost the same for every host, the worker takes no more time, and hardly more memory."""
    small, large = cost(tmp_path / "small", few), cost(tmp_path / "large", many)

    print(small.row(), large.row(), sep="\n")
    assert large.queued < 2 + 0.02 * many
    assert large.share < 1.5 * small.share
    assert large.peak < small.peak + 25 + 0.05 * many
