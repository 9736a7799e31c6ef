"""Rollouts: a wave is queued when the one before has ended, and the stop rule holds the rest back."""

from __future__ import annotations

from pathlib import Path

from stager.models.fleet import Rollout
from tests.fleet.standin import bench, jobs

#: Fails for the host of this name, and says all is well for any other.
FAILS_ON_HOST3 = (
    "/bin/sh",
    "-c",
    """read -r order; case "$order" in *'"host":"host3"'*) code=6;; *) code=0;; esac
    printf '{"ending": "done", "exit_code": %s}' $code""",
)


def rollout(stop_after: int) -> Rollout:
    """Six hosts: one canary, then two at a time, and the rest."""
    made = jobs(6).waves[0]
    return Rollout(batch="scale", waves=((made[0],), made[1:3], made[3:5], made[5:]), stop_after=stop_after)


def test_waves_come_one_after_the_other(tmp_path: Path) -> None:
    """No job of a wave begins before every job of the wave before has ended."""
    with bench(tmp_path / "home") as one:
        one.queue.submit(rollout(stop_after=1))
        while one.queue.rollout_ends("scale").get("scale") is None:
            one.until_over("scale", 60)
        rows = {row.job.job_id: row for row in one.queue.rows()}
        ended = [row.told.ended for row in (rows[f"scale-{number:04d}"] for number in range(6)) if row.told]

        assert len(rows) == 6
        assert one.queue.rollout_ends("scale") == {"scale": {"stopped": "", "withheld": []}}
        assert None not in ended
        assert max(ended[:1]) < min(ended[1:3]) <= max(ended[1:3]) < min(ended[3:5])  # type: ignore[type-var]


def test_a_failure_holds_the_rest_back(tmp_path: Path) -> None:
    """After a job that did not end well no further wave is queued, and it is said which jobs were withheld."""
    with bench(tmp_path / "home", FAILS_ON_HOST3) as one:
        one.queue.submit(rollout(stop_after=1))
        while not (end := one.queue.rollout_ends("scale").get("scale")):
            one.until_over("scale", 60)

        assert end["stopped"] == "1 job(s) did not end well; the rule stops after 1"
        assert end["withheld"] == ["scale-0005"]
        assert {row.job.job_id for row in one.queue.rows()} == {f"scale-{number:04d}" for number in range(5)}
