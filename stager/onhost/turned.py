"""Services turned on and off one by one, and asked: what commands, supervisord and containers have in common."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import booted, clocks, processes

State = Dict[str, Any]
WANTED = {"start": ("active",), "stop": ("inactive", "failed")}
EVERY = 3 * clocks.SECOND  # between two cheap looks: asking these kinds costs a process each


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

    heard = True  # whether its commands end without leaving anything that would go on writing to their output

    def __init__(self) -> None:
        self.seen: Dict[str, Tuple[int, bool]] = {}

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
        return self.turn_all(names, "stop", timeout)

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Start each in turn, in a session (under systemd: a scope) of its own, and read back."""
        return self.turn_all(names, "start", timeout)

    def turn_all(self, names: Sequence[str], verb: str, timeout: float) -> Dict[str, str]:
        """Turn each within one time for all; one that comes late still gets a second."""
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        found = {name: self.turn(name, verb, max(1.0, (end - clocks.boottime_ns()) / clocks.SECOND)) for name in names}
        return {name: why for name, why in found.items() if why}

    def turn(self, name: str, verb: str, timeout: float) -> str:
        """One command, then ask until the state is the wanted one; empty when it is.

        What is still on its way up when the time is over has obeyed, as under systemd; whether it works is for the
        health check to say.
        """
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        try:
            code, words = detached(self.argv(verb, name), timeout, alone=verb == "start", heard=self.heard)
        except OSError as error:
            return "%s of %s: %s" % (verb, name, error)
        while True:
            now = self.state(name)
            over = clocks.boottime_ns() > end
            if now["active"] in WANTED[verb] or (over and verb == "start" and now["active"] == "activating"):
                return ""
            if over or code not in (0, None):
                return "%s of %s (%s) left it %s: %s" % (verb, name, words, now["active"], now["words"])
            clocks.pause(0.05)

    def running(self, record: State) -> bool:
        """Whether the service seems to run; asked anew every few seconds."""
        name, now = record["name"], clocks.boottime_ns()
        if name not in self.seen or now - self.seen[name][0] >= EVERY:
            self.seen[name] = (now, self.state(name)["active"] == "active")
        return self.seen[name][1]


def detached(argv: List[str], timeout: float, alone: bool, heard: bool) -> Tuple[Optional[int], str]:
    """Run a command in a session of its own; ``alone``, where root runs it under systemd, also in a scope of its own.

    So what it leaves running is no part of us, and does not end with us. Output that is ``heard`` is only kept in
    memory, never in a pipe that a daemon left behind would hold for ever; otherwise it goes to /dev/null.

    Raises:
        OSError: it could not be started.
    """
    if alone and booted.is_pid_one() and os.geteuid() == 0:
        unit = "--unit=production-%d" % clocks.boottime_ns()
        told = "--description=Production, put back by stager: %s" % argv[0]
        argv = ["systemd-run", "--scope", "--quiet", "--collect", unit, told, "--", *argv]
    said = os.memfd_create("said") if heard else os.open(os.devnull, os.O_WRONLY)
    with os.fdopen(said, "w+b" if heard else "wb") as out:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=login_environment(),
            cwd=home(),
            start_new_session=True,
            preexec_fn=forget_ourselves,
        )
        try:
            code: Optional[int] = child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None, "did not end in time"
        words = os.pread(out.fileno(), 2000, 0).decode("utf-8", "replace").strip() if heard else ""
        return code, "; ".join(["exit status %d" % child.returncode, *words.splitlines()[-1:]])


def forget_ourselves() -> None:
    """In the new process: what is ours and would stay with production, as a guard's shield from the OOM killer."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_RDWR)
    except OSError:
        return
    try:
        if int(os.read(fd, 16)) < 0:
            os.write(fd, b"0")
    finally:
        os.close(fd)


def home() -> str:
    """The home folder of whoever we are, where it is there."""
    folder = pwd.getpwuid(os.geteuid()).pw_dir
    return folder if os.path.isdir(folder) else "/"


def login_environment() -> Dict[str, str]:
    """What production would have of a login: none of what makes our own commands' output readable to us."""
    ours = ("LC_ALL", "SYSTEMD_")
    kept = {key: value for key, value in processes.environment().items() if not key.startswith(ours)}
    kept.update({key: os.environ[key] for key in ("LANG", "TZ") if key in os.environ})
    return dict({"HOME": home()}, **kept)
