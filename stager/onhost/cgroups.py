"""The processes of a unit: its control group, in either hierarchy (v1 named ``systemd``, hybrid, or pure v2)."""

from __future__ import annotations

import os
from typing import List, Set

from . import clocks

MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")


def folders(group: str) -> List[str]:
    """Where a control group (as systemd names it, ``/system.slice/x.service``) exists now."""
    if not group or group == "/":
        return []
    found = [mount + group for mount in MOUNTS]
    return [folder for folder in found if os.path.exists(os.path.join(folder, "cgroup.procs"))]


def exists(group: str) -> bool:
    """Whether the group is there: a service that runs has one, a stopped one has none."""
    return bool(folders(group))


def members(group: str) -> Set[int]:
    """Every process in the group and the groups below it."""
    found: Set[int] = set()
    for top in folders(group):
        for folder, _, names in os.walk(top):
            if "cgroup.procs" in names:
                try:
                    with open(os.path.join(folder, "cgroup.procs")) as file:
                        found.update(int(line) for line in file if line.strip() not in ("", "0"))
                except OSError:
                    continue  # the group went away meanwhile
    return found


def populated(group: str) -> bool:
    """Whether any process is left.

    By ``cgroup.events`` where there is one (it counts zombies out), by membership elsewhere.
    """
    told = False
    for folder in folders(group):
        try:
            with open(os.path.join(folder, "cgroup.events")) as file:
                told = True
                if "populated 1" in file.read():
                    return True
        except OSError:
            continue
    return False if told and not members(group) else bool(members(group))


def kill(group: str) -> None:
    """SIGKILL every process of the group at once, where the kernel can (``cgroup.kill``, v2 since 5.14)."""
    for folder in folders(group):
        try:
            with open(os.path.join(folder, "cgroup.kill"), "w") as file:
                file.write("1")
        except OSError:
            continue


def wait_empty(group: str, seconds: float) -> bool:
    """Wait until no process is left."""
    end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
    while populated(group):
        if clocks.boottime_ns() > end:
            return False
        clocks.pause(0.01)
    return True
