"""Whether what listens on a port is a given release: by the socket's owner, and where that process runs from."""

from __future__ import annotations

import contextlib
import os
from typing import Set

from . import clocks, ports, processes

TICK_NS = clocks.SECOND // os.sysconf("SC_CLK_TCK")


def stranger(port: int, folder: str, since_ns: int) -> str:
    """Why the listener on a port is not the release in a folder; empty when it is.

    Every process that listens there must have been started since, and belong to the folder: it, what started it, or
    what it started (a router's engine) runs from there. PID 1, which holds an activated socket, is passed over.

    Args:
        port: the TCP port.
        folder: the release's folder.
        since_ns: on the boot-time clock; one that is older was never started on the release.
    """
    owners = [owner for owner in ports.owners(port) if owner["pid"] != 1]
    if not owners:
        return "nobody listens on it"
    real = os.path.realpath(folder)
    for owner in owners:
        if owner["pid"] is None:
            return "its listener may not be looked at"
        pid = int(owner["pid"])
        named = "pid %d: %s" % (pid, owner["command"])
        identity = processes.identify(pid)
        if identity is None or (int(identity["start"]) + 1) * TICK_NS < since_ns:
            return "%s was there before the switch" % named
        if not any(inside(one, real) for one in family(pid)):
            return "%s does not run from %s" % (named, real)
    return ""


def family(pid: int) -> Set[int]:
    """A process, those that started it (not PID 1), and those it started."""
    up = processes.parents()
    found = {pid} | processes.descendants(pid)
    while up.get(pid, 1) > 1:
        pid = up[pid]
        found.add(pid)
    return found


def inside(pid: int, folder: str) -> bool:
    """Whether a process runs from a folder: its executable, working folder, argv, or a file it has mapped."""
    for name in ("exe", "cwd"):
        with contextlib.suppress(OSError):
            if below(os.readlink("/proc/%d/%s" % (pid, name)), folder):
                return True
    words = processes.command_line(pid).split(" ")
    if any(word.startswith("/") and below(os.path.realpath(word), folder) for word in words):
        return True
    with contextlib.suppress(OSError), open("/proc/%d/maps" % pid) as file:
        return any(folder + "/" in line for line in file)
    return False


def below(path: str, folder: str) -> bool:
    """Whether a path is the folder or in it."""
    return path == folder or path.startswith(folder + "/")
