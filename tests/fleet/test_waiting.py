"""A job whose host is held by another run waits without taking a place from others, and takes its turn afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from stager.fleet.rows import QUEUE, TAKEN_OVER, VERSION
from stager.models.fleet import Rollout
from tests.fleet.standin import Bench, bench, jobs


def held_while(flag: Path) -> tuple[str, ...]:
    """A run's stand-in: host0 is held as long as a file is there, all other hosts are free."""
    script = """read -r order
    case "$order" in *'"host":"host0"'*) [ -e "$0" ] && code=11 ending=held said=theirs;; esac
    printf '{"ending": "%s", "exit_code": %s, "message": "%s"}' "${ending:-done}" "${code:-0}" "$said" """
    return ("/bin/sh", "-c", script, str(flag))


def test_a_held_host_takes_no_place(tmp_path: Path) -> None:
    """With one place, the jobs of three free hosts end while the fourth host's job waits; then that one ends, too."""
    flag = tmp_path / "held"
    flag.touch()
    with bench(tmp_path / "home", held_while(flag), slots=1) as one:
        one.queue.submit(jobs(4))
        end = time.monotonic() + 60
        while sorted(row.says if row.told is None else row.state for row in one.queue.rows()) != [
            *["done"] * 3,
            "theirs",
        ]:
            assert time.monotonic() < end, [(row.job.host, row.state) for row in one.queue.rows()]
            time.sleep(0.3)
        (waiting,) = [row for row in one.queue.rows() if row.told is None]
        flag.unlink()
        one.until_over("scale", 60)
        tries = len(list((one.home / "fleet" / "logs").glob("*.log")))

        assert (waiting.job.host, waiting.state) == ("host0", "waiting")
        assert all(row.told and row.told.well for row in one.queue.rows())
        assert tries >= 5, "the held host was asked at least twice"


def busy_while(flag: Path) -> tuple[str, ...]:
    """A run's stand-in: host0's run goes on as long as a file is there, all others are done at once."""
    script = """read -r order
    case "$order" in *'"host":"host0"'*) while [ -e "$0" ]; do sleep 0.1; done;; esac
    printf '{"ending": "done", "exit_code": 0}' """
    return ("/bin/sh", "-c", script, str(flag))


def states(one: Bench) -> dict[str, str]:
    """Every job's state."""
    return {row.job.host: row.state for row in one.queue.rows()}


def until(one: Bench, look: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 30
    while not look():
        assert time.monotonic() < end, (states(one), (one.home / "log").read_text()[-2000:])
        time.sleep(0.2)


def test_a_job_that_waits_for_a_place_is_cancelled_at_once(tmp_path: Path) -> None:
    """It ends while the run before it goes on, never begins, and leaves no run behind that waits for the place."""
    flag = tmp_path / "busy"
    flag.touch()
    with bench(tmp_path / "home", busy_while(flag), slots=1) as one:
        first, second = jobs(2).waves[0]
        one.queue.submit(Rollout(batch="scale", waves=((first,),), stop_after=1))
        until(one, lambda: states(one) == {"host0": "running"})
        one.queue.submit(Rollout(batch="scale", waves=((second,),), stop_after=1))
        until(one, lambda: states(one)["host1"] == "waiting")

        one.queue.cancel(second.job_id, "me@here")

        assert states(one) == {"host0": "running", "host1": "cancelled"}
        time.sleep(3)  # its workflow hears of it
        flag.unlink()
        one.until_over("scale", 30)
        time.sleep(2)  # a run left behind would take the place
        assert states(one) == {"host0": "done", "host1": "cancelled"}
        assert len(list((one.home / "fleet" / "logs").glob("*.log"))) == 1


def test_a_rollout_does_not_take_a_take_over_for_a_cancel(tmp_path: Path) -> None:
    """A job that reads as cancelled on its way to another version stops no rollout: the next wave follows."""
    flag = tmp_path / "busy"
    flag.touch()
    with bench(tmp_path / "home", busy_while(flag), slots=1) as one:
        first, second, third = jobs(3).waves[0]
        one.queue.submit(Rollout(batch="other", waves=((first,),), stop_after=1))
        until(one, lambda: states(one) == {"host0": "running"})
        one.queue.submit(Rollout(batch="scale", waves=((second,), (third,)), stop_after=1))
        until(one, lambda: states(one).get("host1") == "waiting")

        client = one.queue._client
        one.queue.note(second.job_id, {TAKEN_OVER: "stager-fleet-next"})
        client.cancel_workflow(second.job_id, cancel_children=True)
        time.sleep(5)  # the rollout looks in between
        client.rewind_workflow(
            second.job_id, application_version=VERSION, queue_name=QUEUE, queue_partition_key=second.lane
        )
        flag.unlink()
        until(one, lambda: one.queue.rollout_ends("scale")["scale"] is not None)

        assert one.queue.rollout_ends("scale") == {"scale": {"stopped": "", "withheld": []}}
        assert states(one) == {"host0": "done", "host1": "done", "host2": "done"}


def test_a_job_that_waits_for_a_held_host_is_cancelled_at_once(tmp_path: Path) -> None:
    """Its runs had names already: it ends all the same at once, asks the host no more, and its host's lane is free."""
    flag = tmp_path / "held"
    flag.touch()
    with bench(tmp_path / "home", held_while(flag), slots=1) as one:
        first, second = jobs(2).waves[0]
        second = second.model_copy(update={"host": first.host})
        one.queue.submit(Rollout(batch="scale", waves=((first,), (second,)), stop_after=2))
        until(one, lambda: [(row.state, row.says, bool(row.run_id)) for row in one.queue.rows()] == [
            ("waiting", "theirs", True)
        ])  # fmt: skip

        one.queue.cancel(first.job_id, "me@here")
        assert states(one) == {"host0": "cancelled"}
        flag.unlink()
        until(one, lambda: {row.job.job_id: row.state for row in one.queue.rows()} == {
            first.job_id: "cancelled", second.job_id: "done"
        })  # fmt: skip
        logs = len(list((one.home / "fleet" / "logs").glob("*.log")))

        assert logs == 2, "one run of each job"
