"""Start, stop or ask about one background program: ``service.py start|stop|status|pid FILE``.

FILE is JSON: ``argv``, ``log``, ``grace`` (seconds from TERM to KILL). Beside it lies the identity of the process that
was started (pid, start time, boot); a process of that pid with another start time is a stranger and is left alone.
``status`` exits with 0 if it runs and with 3 if it does not, as init scripts do.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

RUNS, DOES_NOT = 0, 3
PR_SET_PDEATHSIG = 1


def identity(pid: int) -> dict[str, Any] | None:
    """Return who a process is; None where it is gone, or dead and only not yet collected."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else {"pid": pid, "start": int(fields[19]), "boot": boot}


class Service:
    """One program, by its file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.record = file.with_suffix(".identity")

    def running(self) -> dict[str, Any] | None:
        """Return the identity of the process that was started, if it still runs."""
        try:
            known: dict[str, Any] = json.loads(self.record.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return known if identity(known["pid"]) == known else None

    def start(self) -> None:
        """Start it, unless it runs."""
        with self._alone():
            if self.running():
                return
            what = json.loads(self.file.read_text())
            with Path(what["log"]).open("ab") as log:
                child = subprocess.Popen(
                    what["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
                )
            self.record.write_text(json.dumps(identity(child.pid)))

    def stop(self) -> None:
        """End it: TERM, grace, KILL, through a descriptor that means this process and no later one of its number."""
        with self._alone():
            known = self.running()
            if not known:
                return
            try:
                process = os.pidfd_open(known["pid"])
            except ProcessLookupError:
                return
            try:
                if identity(known["pid"]) == known:
                    end(process, float(json.loads(self.file.read_text())["grace"]))
            finally:
                os.close(process)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One start or stop at a time, however many ask."""
        with self.file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def end(process: int, grace: float) -> None:
    """TERM, and KILL where that does not do it in time, through a process descriptor."""
    for signum, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signum)
        if select.select([process], [], [], patience)[0]:
            return


def main(verb: str, file: str) -> int:
    """Do one thing; returns the exit status."""
    service = Service(Path(file))
    if verb in ("start", "stop"):
        getattr(service, verb)()
        return 0
    return RUNS if service.running() else DOES_NOT


def watch(marker: Path, file: Path, owner: dict[str, Any]) -> None:
    """What the watchdog does: start the service when it is down, unless the marker asks to keep off.

    When the program that made all this is gone for good, so is the reason for it: the service is ended, and so are we.
    """
    service = Service(file)
    while True:
        time.sleep(0.5)
        if identity(owner["pid"]) != owner:
            service.stop()
            return
        if marker.exists() or service.running():
            continue
        sys.stdout.write(f"{file.stem} is down and nobody asks to keep off: starting it\n")
        sys.stdout.flush()
        service.start()


def tied(argv: list[str]) -> NoReturn:
    """Become a program that is ended when its parent dies, however that dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    os.execv(argv[0], argv)  # noqa: S606


if __name__ == "__main__":
    if sys.argv[1] == "tied":
        tied(sys.argv[2:])
    elif sys.argv[1] == "watch":
        watch(Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        sys.exit(main(sys.argv[1], sys.argv[2]))
