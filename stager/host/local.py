"""This machine as a host."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from stager.errors import Unreachable
from stager.host.base import WRITE_STALL
from stager.host.forward import DirectForward
from stager.host.tail import Tail

_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "DBUS_SESSION_BUS_ADDRESS")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def login_environment(environ: Mapping[str, str], virtualenv: str | None) -> dict[str, str]:
    """Return what a login would have of this environment: no secrets, no virtualenv.

    What runs on the host outlives the controller, so it must not lean on a virtualenv that may go away, and
    a token in the controller's environment has no business there.
    """
    kept = {k: v for k, v in environ.items() if k in _KEPT or k.startswith(("LC_", "XDG_"))}
    folders = [f for f in environ.get("PATH", _PATH).split(":") if f and (not virtualenv or not _within(f, virtualenv))]
    return {**kept, "PATH": ":".join(folders) or _PATH}


def _within(folder: str, root: str) -> bool:
    return Path(folder) == Path(root) or Path(root) in Path(folder).parents


class LocalHost:
    """Commands as child processes in sessions of their own."""

    address = "local"

    def open(self, argv: Sequence[str]) -> LocalPipe:
        """Start a command; a missing program gives status 127, as over SSH."""
        if not argv:
            raise ValueError("a command needs at least one word")
        home = Path.home()
        process = subprocess.Popen(
            # sh resolves the program, so that "not found" reads the same on every host
            ["/bin/sh", "-c", 'exec "$@"', "sh", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=home if home.is_dir() else "/",
            env=login_environment(os.environ, sys.prefix if sys.prefix != sys.base_prefix else None),
            start_new_session=True,
        )
        return LocalPipe(process)

    def forward(self, port: int) -> DirectForward:
        """Return the port itself: nothing lies between."""
        return DirectForward(port)

    def close(self) -> None:
        """Do nothing: there is no connection."""


class LocalPipe:
    """A child process's standard streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._tail = Tail()
        self._closed = False
        self._reading = threading.Lock()
        self._drain = threading.Thread(target=self._drain_stderr, name="stderr", daemon=True)
        self._drain.start()

    def _drain_stderr(self) -> None:
        with self._stderr:
            while data := self._stderr.read(65536):
                self._tail.feed(data)

    def read(self, size: int) -> bytes:
        """Return some of the child's output."""
        with self._reading:
            while not self._closed:
                if select.select([self._stdout], [], [], 0.2)[0]:
                    return self._stdout.read(size) or b""
        return b""

    def write(self, data: bytes) -> None:
        """Write to the child's input."""
        rest = memoryview(data)
        moved = time.monotonic()
        while rest:
            try:
                taken = os.write(self._stdin.fileno(), rest[:65536])
            except BlockingIOError:
                if time.monotonic() - moved > WRITE_STALL:
                    raise Unreachable(f"The command took no input for {WRITE_STALL:.0f} s.") from None
                select.select([], [self._stdin], [], 0.2)
                continue
            except (BrokenPipeError, ValueError):
                raise Unreachable("The command no longer reads its input.") from None
            rest = rest[taken:]
            moved = time.monotonic()

    def end_input(self) -> None:
        """Close the child's input."""
        self._stdin.close()

    def close(self) -> None:
        """Close the child's input and output; a thread collects it when it ends."""
        if self._closed:
            return
        self._closed = True
        self._stdin.close()
        with self._reading:
            self._stdout.close()
        threading.Thread(target=self._process.wait, name="reap", daemon=True).start()

    def stderr_tail(self) -> str:
        """Return the end of the child's standard error."""
        return self._tail.text()

    def exit_status(self, timeout: float) -> int | None:
        """Return the child's status; a signal counts as 128 plus its number, as a shell says it."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._drain.join(0.2)  # so that the tail holds the last words, unless a grandchild keeps it open
        return status if status >= 0 else 128 - status
