"""Services turned on and off one by one, and asked: what commands, supervisord and containers have in common."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import clocks, processes, systemd

State = Dict[str, Any]
WANTED = {"start": ("active",), "stop": ("inactive", "failed")}


def state(active: str, load: str = "loaded", sub: str = "", invocation: str = "", words: str = "") -> State:
    """A recorded state in the form that all kinds of services share."""
    return {
        "active": active,
        "load": load,
        "sub": sub,
        "enabled": "",
        "invocation": invocation,
        "result": "",
        "cgroup": "",
        "words": words,
    }


class Turned:
    """The common part; a kind adds ``state``, ``argv`` and what speaks against a service."""

    def state(self, name: str) -> State:
        """The recorded state of one service; ``unknown`` where its answer is none."""
        raise AssertionError("every kind says how a service is asked")

    def argv(self, verb: str, name: str) -> List[str]:
        """The command that starts or stops one service."""
        raise AssertionError("every kind says how a service is turned")

    def complaints(self, name: str, now: State) -> List[str]:
        """Why a service could not be taken down and come back as it was."""
        if now["active"] == "unknown":
            return ["%s cannot be asked for: %s" % (name, now["words"])]
        if now["active"] in ("activating", "deactivating"):
            return ["%s is in transition (%s): wait until it is settled" % (name, now["sub"])]
        return [] if processes.found(self.argv("start", name)[0]) else ["%s is not there" % self.argv("start", name)[0]]

    def look(self, names: Sequence[str]) -> Dict[str, State]:
        """Recorded states."""
        return {name: self.state(name) for name in names}

    def survey(self, names: Sequence[str]) -> Dict[str, Any]:
        """What preflight needs; these kinds know of no dependencies."""
        units = {}
        for name in names:
            now = self.state(name)
            units[name] = dict(now, problems=self.complaints(name, now))
        return {"units": units, "along": [], "dragged": [], "alone": [], "triggers": {}}

    def stop(self, names: Sequence[str], timeout: float) -> Dict[str, str]:
        """Stop each in turn and read back; returns those that did not obey."""
        return {name: why for name in names for why in [self.turn(name, "stop", timeout)] if why}

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Start each in turn, in a session (under systemd: a scope) of its own, and read back."""
        return {name: why for name in names for why in [self.turn(name, "start", timeout)] if why}

    def turn(self, name: str, verb: str, timeout: float) -> str:
        """One command, then ask until the state is the wanted one; empty when it is."""
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        try:
            code, words = detached(self.argv(verb, name), timeout, "stager-production" if verb == "start" else "")
        except OSError as error:
            return "%s of %s: %s" % (verb, name, error)
        while True:
            active = self.state(name)["active"]
            if active in WANTED[verb]:
                return ""
            if clocks.boottime_ns() > end or code not in (0, None):
                return "%s of %s left it %s: %s" % (verb, name, active, words)
            clocks.pause(0.05)

    def running(self, record: State) -> bool:
        """Whether the service seems to run."""
        return bool(self.state(record["name"])["active"] == "active")


def detached(argv: List[str], timeout: float, scope: str) -> Tuple[Optional[int], str]:
    """Run a command so that what it leaves running is no part of us: in a session, under systemd a scope, of its own.

    Its output goes to /dev/null: a daemon it leaves behind would otherwise hold a pipe of ours for ever.
    """
    if scope and systemd.is_pid_one() and os.geteuid() == 0:
        unit = "--unit=%s-%d" % (scope, clocks.boottime_ns())
        argv = ["systemd-run", "--scope", "--quiet", "--collect", unit, "--", *argv]
    null = subprocess.DEVNULL
    child = subprocess.Popen(
        argv, stdin=null, stdout=null, stderr=null, env=processes.environment(), start_new_session=True
    )
    try:
        code = child.wait(timeout)
        return code, "exit status %d" % code
    except subprocess.TimeoutExpired:
        return None, "did not end in time"
