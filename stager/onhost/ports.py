"""Who listens where: sockets from /proc/net, owners by the descriptors that hold them."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Set, Tuple

from . import processes

LISTEN, ESTABLISHED = "0A", "01"


def sockets() -> List[Tuple[int, str, str, int]]:
    """Every TCP socket: (local port, local address in hex, state, inode)."""
    found = []
    for name in ("tcp", "tcp6"):
        try:
            with open("/proc/net/" + name) as file:
                lines = file.read().splitlines()[1:]
        except FileNotFoundError:
            continue
        for line in lines:
            fields = line.split()
            address, _, port = fields[1].rpartition(":")
            found.append((int(port, 16), address, fields[3], int(fields[9])))
    return found


def listening(port: int) -> Set[int]:
    """The inodes of the sockets that listen on a port."""
    return {inode for number, _, state, inode in sockets() if number == port and state == LISTEN}


def connections(ports: Iterable[int]) -> int:
    """How many accepted connections there are on some ports."""
    wanted = set(ports)
    return sum(1 for number, _, state, _ in sockets() if number in wanted and state == ESTABLISHED)


def inodes_of(pids: Iterable[int]) -> Set[int]:
    """The socket inodes that some processes hold open, as far as we may look."""
    found = set()
    for pid in pids:
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    return found


def listened_by(pids: Iterable[int]) -> Set[int]:
    """The ports on which some processes listen."""
    held = inodes_of(pids)
    return {port for port, _, state, inode in sockets() if state == LISTEN and inode in held}


def owners(port: int) -> List[Dict[str, Any]]:
    """Who listens on a port: pid, uid and command of each, or one entry without a pid where we may not look."""
    wanted = listening(port)
    if not wanted:
        return []
    found = [
        {"pid": pid, "uid": processes.uid_of(pid), "command": processes.command_line(pid)}
        for pid in processes.pids()
        if inodes_of([pid]) & wanted
    ]
    return found or [{"pid": None, "uid": None, "command": "a process of another user"}]


def any_address(port: int) -> bool:
    """Whether a listener on this port takes connections from other machines (bound to no loopback address)."""
    return any(
        not (
            address.endswith("7F")
            or address in ("00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
        )
        for number, address, state, _ in sockets()
        if number == port and state == LISTEN
    )


def free_port() -> int:
    """A port that is free on loopback now."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
