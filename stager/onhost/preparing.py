"""The ``prepare`` commands of a release: run inside its folder, never as root unless asked for; what they installed."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import signal
import subprocess
from typing import IO, Any, Callable, Dict, List, Optional, Sequence

from . import clocks, processes
from .faults import Refused
from .files import walk
from .tree import group_of, own

NOBODY = 65534
NONCE = "STAGER_PREPARE_OF"  # in the environment of whatever a prepare command starts, sessions of its own included


def prepare(
    folder: str,
    commands: Sequence[Sequence[str]],
    log: str,
    home: str,
    user: Optional[int],
    run_id: str,
    go_on: Callable[[], None],
    timeout: float,
) -> None:
    """Run commands inside a release's folder, never as root unless the playbook says so.

    ``go_on`` is asked while each runs; what it raises ends the command with all it started.

    Raises:
        Refused: one failed or took too long, with the end of its output.
    """
    os.makedirs(home, 0o700, exist_ok=True)
    owner = user if os.geteuid() == 0 else None
    if owner is not None:
        own(folder, owner)
        own(home, owner)
    with open(log, "ab") as output:
        for argv in commands:
            output.write(("$ %s\n" % " ".join(argv)).encode())
            output.flush()
            try:
                code = run(argv, folder, output, home, owner, run_id, go_on, timeout)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Refused("prepare: %s: %s" % (" ".join(argv), error)) from None
            if code != 0:
                raise Refused("prepare: %s ended with status %d:\n%s" % (" ".join(argv), code, tail(log)))


def run(
    argv: Sequence[str],
    folder: str,
    output: IO[bytes],
    home: str,
    owner: Optional[int],
    run_id: str,
    go_on: Callable[[], None],
    timeout: float,
) -> int:
    """One prepare command, inside the tree, in a session of its own; all that it started ends with it."""
    environment = dict(processes.environment(), HOME=home, **{NONCE: run_id})
    ids: Dict[str, Any] = {"user": owner, "group": group_of(owner), "extra_groups": []} if owner else {}
    child = subprocess.Popen(
        list(argv),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environment,
        start_new_session=True,
        preexec_fn=processes.die_with_parent,
        **ids,
    )
    end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(0.2)
            go_on()
            if clocks.boottime_ns() > end:
                raise subprocess.TimeoutExpired(list(argv), timeout)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        end_all(run_id)


def end_all(run_id: str) -> None:
    """End what a run's prepare commands started, also where whoever started them was killed.

    Each is known by the run's id in its environment, and ended by its own identity.
    """
    for _ in range(10):
        found = processes.with_environment(("%s=%s" % (NONCE, run_id)).encode())
        if not found:
            return
        for pid in found:
            processes.signal_by_identity(pid, signal.SIGKILL)
        clocks.pause(0.02)


def distributions(folder: str) -> List[Dict[str, str]]:
    """What ``prepare`` installed, by the installed distributions' own records.

    Name and digest of the recorded digests.
    """
    found = []
    for path in walk(folder):
        if path.endswith(".dist-info/RECORD"):
            with open(os.path.join(folder, path), newline="") as file:
                rows = sorted(
                    row[0] + "=" + row[1]
                    for row in csv.reader(file)
                    if len(row) > 1 and row[1] and not row[0].startswith("..")
                )
            name, _, version = os.path.basename(os.path.dirname(path))[: -len(".dist-info")].partition("-")
            found.append(
                {
                    "name": name,
                    "version": version,
                    "record_sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(),
                }
            )
    return found


def tail(path: str, size: int = 2000) -> str:
    """The end of a log."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read().decode("utf-8", "replace")
