"""A real PostgreSQL server for one test: Debian's programs, a cluster in a folder of its own, loopback only."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

SERVERS = Path("/usr/lib/postgresql")
OWNER = "postgres"  # the server refuses to run as root


def programs() -> Path | None:
    """Where the server's programs are; None where Debian's package is not installed."""
    found = sorted(SERVERS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def missing() -> str | None:
    """What keeps a server from running here, as one line that says what to do."""
    return None if programs() else "the fleet's tests on PostgreSQL need its server: apt-get install postgresql"


class Postgres:
    """One server; it can be stopped as a failing one would be, and started again on the same data."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        self._folder = Path(tempfile.mkdtemp(prefix="stager-pg-"))
        self._data = self._folder / "data"
        if os.geteuid() == 0:
            account = pwd.getpwnam(OWNER)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._run("initdb", "-D", str(self._data), "--auth=trust", f"--username={OWNER}", "--no-sync")
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(f"listen_addresses='127.0.0.1'\nport={self.port}\nunix_socket_directories='{self._folder}'\n")
            conf.write("fsync=off\nmax_connections=200\n")
        self.start()

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it; returns when it takes connections."""
        self._control("start", "-l", str(self._folder / "log"))

    def stop(self) -> None:
        """Stop it at once: connections break, nothing is said."""
        self._control("stop", "-m", "immediate")

    def close(self) -> None:
        """End it and remove all it had."""
        self._control("stop", "-m", "immediate", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _control(self, *words: str, check: bool = True) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", *words, check=check)

    def _run(self, program: str, *words: str, check: bool = True) -> None:
        user = {"user": OWNER, "group": OWNER, "extra_groups": []} if os.geteuid() == 0 else {}
        log = self._folder / "out"
        with log.open("a") as out:  # a file: the server keeps its starter's pipes open
            done = subprocess.run(
                [str(self._programs / program), *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self._folder, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, timeout=60, check=False, **user,
            )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {log.read_text()[-2000:]}")
