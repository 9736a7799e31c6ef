"""One systemd-nspawn container as a machine: power on, find its PID 1, cut its power."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from .place import CLEAN_ENV, hierarchies

T = TypeVar("T")
PATIENCE = 30.0  # seconds any one step of a boot or an end may take on a busy machine


def start(
    name: str, root: Path, console: Path, *, unified: bool, options: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Power on: boot `root` in cgroups of its own; returns nspawn's process, not the host's PID 1.

    Without groups of their own two hosts would share `foo.service`'s group, because --keep-unit leaves nspawn
    where its parent is.
    """
    groups = _groups(name)
    for group in groups:
        group.mkdir(parents=True, exist_ok=True)
    argv = [
        "systemd-nspawn", "--quiet", f"--directory={root}", "--boot", "--register=no", "--keep-unit", "--network-veth",
        f"--machine={name}", "--console=pipe", *options,
    ]  # fmt: skip
    env = CLEAN_ENV | ({"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"} if unified else {})
    with console.open("ab") as log:
        return subprocess.Popen(
            [*entering(groups), *argv],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def entering(groups: Sequence[Path]) -> list[str]:
    """The front of an argv that puts itself into `groups` and becomes what follows."""
    script = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done; shift; exec "$@"'
    return ["/bin/sh", "-c", script, "sh", *map(str, groups), "--"]


def leader(nspawn: subprocess.Popen[bytes]) -> int | None:
    """The pid, out here, of the host's PID 1; None while there is none."""
    for child in _read(f"/proc/{nspawn.pid}/task/{nspawn.pid}/children").split():
        inner = [line.split() for line in _read(f"/proc/{child}/status").splitlines() if line.startswith("NSpid:")]
        if inner and len(inner[0]) > 2 and inner[0][-1] == "1":  # "NSpid: 4711 1": its own namespace's first
            return int(child)
    return None


def inside_groups(pid: int) -> list[Path]:
    """The groups a process lives in, one for each of the lab's hierarchies."""
    found = []
    for line in _read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for hierarchy in hierarchies():
            if controllers == {"systemd": "name=systemd"}.get(hierarchy.name, ""):
                found.append(hierarchy / path.lstrip("/"))
    return found


def end(nspawn: subprocess.Popen[bytes], pid: int) -> None:
    """Cut the power: PID 1 dies on the spot and the kernel ends all in its pid namespace.

    Killing nspawn itself would leave the host running.
    """
    os.kill(pid, signal.SIGKILL)
    nspawn.wait(PATIENCE)  # from then on it may be started again under its name


def kill_all(name: str) -> None:
    """End everything in a host's cgroups, whoever started it, and remove the groups."""
    for top in _groups(name):
        until(lambda top=top: _emptied(top), f"the end of all in {top}")  # type: ignore[misc]


def until(ask: Callable[[], T], what: str, patience: float = PATIENCE) -> T:
    """Ask every 20 ms until the answer is true.

    Raises:
        TimeoutError: it was not within `patience` seconds.
    """
    end = time.monotonic() + patience
    while not (answer := ask()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {patience:g} s for {what}")
        time.sleep(0.02)
    return answer


def _groups(name: str) -> list[Path]:
    return [hierarchy / "stager-lab" / name for hierarchy in hierarchies()]


def _emptied(top: Path) -> bool:
    """Kill what is in a group and below it, and try to remove it; true when it is gone."""
    if not top.exists():
        return True
    try:
        groups = [*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top]
    except FileNotFoundError:  # systemd, not dead yet, removed one while we looked
        return False
    for pid in (int(pid) for group in groups for pid in _read(group / "cgroup.procs").split()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it went by itself between the reading and now
    try:
        for group in groups:
            group.rmdir()
    except OSError:  # still busy: the killed take a moment to go
        return False
    return True


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # the process or group is gone, which is an answer
        return ""
