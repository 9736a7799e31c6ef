"""Production run by commands of the playbook's: ``start``, ``stop`` and ``status`` (0 runs, 3 does not)."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Dict, List, Sequence

from . import clocks, processes, systemd

RUNS, DOES_NOT = 0, 3


class Command:
    """Services that know no more than how to be started, stopped and asked."""

    def __init__(self, entries: Sequence[Dict[str, Any]]) -> None:
        self.entries = {entry["name"]: entry for entry in entries}

    def look(self, names: Sequence[str]) -> Dict[str, Dict[str, Any]]:
        """The recorded state of each name; a status that is neither 0 nor 3 is no state (``unknown``)."""
        return {name: self.state(name) for name in names}

    def state(self, name: str) -> Dict[str, Any]:
        """Ask one status command."""
        ran = processes.run(self.entries[name]["status"], timeout=20)
        active = {RUNS: "active", DOES_NOT: "inactive"}.get(-1 if ran.code is None else ran.code, "unknown")
        return {
            "active": active,
            "load": "loaded",
            "sub": "",
            "enabled": "",
            "invocation": "",
            "result": "",
            "cgroup": "",
            "words": ran.words(),
        }

    def survey(self, names: Sequence[str]) -> Dict[str, Any]:
        """What preflight needs; commands know of no dependencies."""
        units = {}
        for name in names:
            state, entry = self.state(name), self.entries[name]
            problems = (
                []
                if state["active"] != "unknown"
                else ["status of %s answers neither 0 (runs) nor 3 (does not): %s" % (name, state["words"])]
            )
            for verb in ("start", "stop"):
                if not found(entry[verb][0]):
                    problems.append("%s of %s is not there: %s" % (verb, name, entry[verb][0]))
            units[name] = dict(state, problems=problems)
        return {"units": units, "along": [], "dragged": [], "alone": [], "triggers": {}}

    def stop(self, names: Sequence[str], timeout: float) -> Dict[str, str]:
        """Run each stop command and read back."""
        return {name: why for name in names for why in [self.turn(name, "stop", "inactive", timeout)] if why}

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Run each start command, in a session (under systemd: a scope) of its own, and read back."""
        return {name: why for name in names for why in [self.turn(name, "start", "active", timeout)] if why}

    def turn(self, name: str, verb: str, wanted: str, timeout: float) -> str:
        """One command, then ask until the state is the wanted one; empty when it is."""
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        argv: List[str] = list(self.entries[name][verb])
        try:
            code, words = detached(argv, timeout, "stager-production" if verb == "start" else "")
        except OSError as error:
            return "%s of %s: %s" % (verb, name, error)
        while self.state(name)["active"] != wanted:
            if clocks.boottime_ns() > end or code not in (0, None):
                return "%s of %s left it %s: %s" % (verb, name, self.state(name)["active"], words)
            clocks.pause(0.05)
        return ""

    def running(self, record: Dict[str, Any]) -> bool:
        """Whether the service seems to run; asked each second, so the status command should be cheap."""
        return bool(self.state(record["name"])["active"] == "active")


def found(program: str) -> bool:
    """Whether a program is there to be run."""
    if "/" in program:
        return os.access(program, os.X_OK)
    return any(
        os.access(os.path.join(folder, program), os.X_OK) for folder in processes.environment()["PATH"].split(":")
    )


def detached(argv: List[str], timeout: float, scope: str) -> "tuple[int | None, str]":
    """Run a command so that what it leaves running is no part of us: in a session, under systemd a scope, of its own.

    Its output goes to /dev/null: a daemon it leaves behind would otherwise hold a pipe of ours for ever.
    """
    if scope and systemd.is_pid_one() and os.geteuid() == 0:
        argv = [
            "systemd-run",
            "--scope",
            "--quiet",
            "--collect",
            "--unit=%s-%d" % (scope, clocks.boottime_ns()),
            "--",
            *argv,
        ]
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=processes.environment(),
        start_new_session=True,
    )
    try:
        code = child.wait(timeout)
        return code, "exit status %d" % code
    except subprocess.TimeoutExpired:
        return None, "did not end in time"
