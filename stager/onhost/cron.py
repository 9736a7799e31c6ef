"""The boot leg where there is no systemd: one ``@reboot`` line in our own crontab, present only while a run is open."""

from __future__ import annotations

import shlex
from typing import List

from . import processes


def tag(run_id: str) -> str:
    """How our line ends."""
    return "# stager %s" % run_id


def daemon_runs() -> bool:
    """Whether a cron daemon runs (by the kernel's short names of processes)."""
    for pid in processes.pids():
        try:
            with open("/proc/%d/comm" % pid) as file:
                if file.read().strip() in ("cron", "crond", "fcron", "busybox-cron"):
                    return True
        except OSError:
            continue
    return False


def lines() -> List[str]:
    """Our crontab as it stands."""
    ran = processes.run(["crontab", "-l"])
    return ran.out.splitlines() if ran.ok else []


def has(run_id: str) -> bool:
    """Whether the run's line is there."""
    return any(line.endswith(tag(run_id)) for line in lines())


def add(run_id: str, argv: List[str]) -> str:
    """Add the run's line; returns why it could not be added."""
    if not daemon_runs():
        return "there is neither systemd nor a cron daemon"
    line = "@reboot %s %s" % (" ".join(shlex.quote(word) for word in argv), tag(run_id))
    ran = processes.run(["crontab", "-"], stdin="\n".join([*lines(), line]) + "\n")
    return "" if ran.ok and has(run_id) else "crontab: %s" % ran.words()


def remove(run_id: str) -> None:
    """Take the run's line out again; every other line stays as it is."""
    if not has(run_id):
        return
    left = [line for line in lines() if not line.endswith(tag(run_id))]
    if left:
        processes.run(["crontab", "-"], stdin="\n".join(left) + "\n")
    else:
        processes.run(["crontab", "-r"])
