"""A job whose host is held by another run waits without taking a place from others, and takes its turn afterwards."""

from __future__ import annotations

import time
from pathlib import Path

from tests.fleet.standin import bench, jobs


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
