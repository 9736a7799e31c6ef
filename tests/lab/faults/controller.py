"""A controller as a process of its own that starts in no time: forked, with `stager` imported already."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import stager.cli.main
from stager.cli import cleanup, extend, stage, verify  # noqa: F401 - imported once, here, for every fork
from stager.host import connect, onhost, ssh  # noqa: F401

PR_SET_PDEATHSIG = 1


@dataclass
class Controller:
    """One call of `stager` under way; what it said goes to a file."""

    pid: int
    said: Path
    printed: Path
    status: int | None = None

    @classmethod
    def start(cls, folder: Path, *words: str, home: str = "home") -> Controller:
        """Fork, and become `stager` with these words; ``home`` names its state folder below ``folder``."""
        said = folder / f"said-{words[0]}-{time.monotonic_ns()}"
        printed = said.with_name(said.name + ".out")
        pid = os.fork()
        if pid == 0:
            code = 1
            try:  # from here on no way leads back into the test
                os.setsid()
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)  # none outlives its test
                for stream, path in ((1, printed), (2, said)):
                    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), stream)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                os.environ["STAGER_HOME"] = str(folder / home)
                code = stager.cli.main.main(list(words))
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        return cls(pid, said, printed)

    def over(self) -> bool:
        """Whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self, patience: float) -> int:
        """Its exit code; killed (-9) when its time is over."""
        end = time.monotonic() + patience
        while not self.over():
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
            time.sleep(0.01)
        assert self.status is not None
        return self.status

    def signal(self, signum: int) -> None:
        """Signal it, unless it has ended."""
        if not self.over():
            os.kill(self.pid, signum)

    def words(self) -> str:
        """What it said."""
        return self.said.read_text(errors="replace") if self.said.exists() else ""

    def out(self) -> str:
        """What it printed: one JSON document."""
        return self.printed.read_text(errors="replace") if self.printed.exists() else ""
