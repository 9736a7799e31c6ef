"""Processes by identity.

Boot id, pid and start time together name one process, a pid alone names whoever has it now.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set

from . import clocks

Identity = Dict[str, Any]
PR_SET_PDEATHSIG = 1


def stat_fields(pid: int) -> Optional[List[str]]:
    """``/proc/PID/stat`` from field 3 on (the name may hold anything); None when the process is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            text = file.read().decode("ascii", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def identify(pid: int) -> Optional[Identity]:
    """The identity of a running process; None when it is gone (a zombie is gone)."""
    fields = stat_fields(pid)
    if fields is None or fields[0] in "ZX":
        return None
    return {"pid": pid, "start": int(fields[19]), "boot_id": clocks.boot_id()}


def me() -> Identity:
    """This process."""
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def alive(identity: Optional[Identity]) -> bool:
    """Whether exactly this process still runs."""
    if not identity:
        return False
    now = identify(int(identity["pid"]))
    return now is not None and all(identity.get(key) == value for key, value in now.items())


def open_pidfd(identity: Identity) -> Optional[int]:
    """A descriptor that means this process and no other; None when it is gone or the kernel has none (before 5.3)."""
    try:
        fd = os.pidfd_open(int(identity["pid"]))
    except (OSError, AttributeError):  # some builds of Python lack what their kernel has
        return None
    if alive(identity):  # looked at after opening: the descriptor cannot be a later process of the same number
        return fd
    os.close(fd)
    return None


def send(identity: Identity, signum: int) -> bool:
    """Signal exactly this process; False when it is gone."""
    fd = open_pidfd(identity) if hasattr(signal, "pidfd_send_signal") else None
    if fd is None:
        if not alive(identity) or pidfds_work():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(
                int(identity["pid"]), signum
            )  # a kernel before 5.3: identity looked at just now is the best there is
        return True
    try:
        signal.pidfd_send_signal(fd, signum)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


def signal_by_identity(pid: int, signum: int) -> None:
    """Signal a process found just now, by a descriptor, so that a recycled number cannot be hit."""
    identity = identify(pid)
    if identity:
        send(identity, signum)


def pidfds_work() -> bool:
    """Whether this kernel and this Python have pidfds."""
    if not hasattr(signal, "pidfd_send_signal"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
        return True
    except (OSError, AttributeError) as error:
        # EPERM: a container's filter that does not know the call
        return getattr(error, "errno", errno.ENOSYS) not in (errno.ENOSYS, errno.EPERM, None)


def pids() -> List[int]:
    """Every process id of now."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parents() -> Dict[int, int]:
    """pid to parent pid, of now."""
    found = {}
    for pid in pids():
        fields = stat_fields(pid)
        if fields is not None and fields[0] not in "ZX":
            found[pid] = int(fields[1])
    return found


def descendants(root: int) -> Set[int]:
    """Every process below one, itself left out."""
    up = parents()
    found: Set[int] = set()
    grew = {root}
    while grew:
        grew = {pid for pid, parent in up.items() if parent in grew and pid not in found}
        found |= grew
    return found


def with_environment(entry: bytes) -> Set[int]:
    """Every process whose environment at its start held this entry (``NAME=value``), as far as we may look."""
    found = set()
    for pid in pids():
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                if entry in file.read().split(b"\0"):
                    found.add(pid)
        except OSError:
            continue
    return found


def state_of(pid: int) -> str:
    """The kernel's one-letter state; empty when gone."""
    fields = stat_fields(pid)
    return fields[0] if fields else ""


def command_line(pid: int) -> str:
    """A process's argv as text, for people only."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def uid_of(pid: int) -> Optional[int]:
    """Who a process runs as."""
    try:
        return os.stat("/proc/%d" % pid).st_uid
    except OSError:
        return None


def stuck(some: Iterable[int]) -> List[Dict[str, Any]]:
    """Those of the processes that wait uninterruptibly (state D).

    No signal ends them until what they wait for comes.
    """
    return [{"pid": pid, "command": command_line(pid), "state": "D"} for pid in sorted(some) if state_of(pid) == "D"]


def environment() -> Dict[str, str]:
    """What our own commands run with: no locale to translate messages, no pager, no colour, no proxies."""
    kept = {
        key: os.environ[key]
        for key in ("PATH", "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
        if key in os.environ
    }
    runtime = "/run/user/%d" % os.geteuid()  # where pam_systemd or cron did not say so
    if os.path.isdir(runtime):
        kept.setdefault("XDG_RUNTIME_DIR", runtime)
    kept.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    kept.update(LC_ALL="C", SYSTEMD_PAGER="", SYSTEMD_COLORS="0", SYSTEMD_LOG_LEVEL="warning")
    return kept


def die_with_parent() -> None:
    """In a new child: end with the process that started it, so that no command of ours acts after we are gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Ran:
    """How a command of ours ended.

    ``code`` is None when its time was over (the client was ended, what it asked for may go on); ``raw`` is its
    standard output byte for byte.
    """

    def __init__(self, argv: Sequence[str], code: Optional[int], out: str, err: str, raw: bytes = b"") -> None:
        self.argv, self.code, self.out, self.err, self.raw = tuple(argv), code, out, err, raw

    @property
    def ok(self) -> bool:
        """Exit status 0."""
        return self.code == 0

    def words(self) -> str:
        """What to tell a person."""
        if self.code is None:
            return "%s did not end in time" % " ".join(self.argv[:3])
        return (self.err or self.out).strip() or "%s ended with status %s" % (" ".join(self.argv[:3]), self.code)


def run(argv: Sequence[str], timeout: float = 30.0, stdin: bytes = b"") -> Ran:
    """Run a command to its end, with no terminal and a time limit; a missing program is status 127."""
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env=environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(argv, None, "", "")
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        return Ran(argv, 127, "", "%s: %s" % (argv[0], error.strerror))
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return Ran(argv, done.returncode, out, err, done.stdout)


def found(program: str) -> bool:
    """Whether a program is there to be run."""
    if "/" in program:
        return os.access(program, os.X_OK)
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in environment()["PATH"].split(":"))
