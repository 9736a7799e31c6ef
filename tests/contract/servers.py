"""Real SSH servers on loopback, run as the current user: OpenSSH's, and asyncssh's."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from stager.models.playbook import HostSpec

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def need(*tools: str) -> None:
    """Skip with the line that says what to install; with STAGER_LAB=required fail instead."""
    for tool in tools:
        if not (shutil.which(tool) or Path("/usr/sbin", tool).exists()):
            words = f"needs {tool} (apt-get install {PACKAGES.get(tool, tool)})"
            pytest.fail(words) if os.environ.get("STAGER_LAB") == "required" else pytest.skip(words)


PACKAGES = {"sshd": "openssh-server", "ssh-keygen": "openssh-client", "ssh": "openssh-client", "setpriv": "util-linux"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Make a key pair and return the private half's path."""
    size = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-f", str(path)], check=True)
    return path


def public(path: Path) -> str:
    return path.with_name(path.name + ".pub").read_text().strip()


@dataclass
class Server:
    """A running server and what a client needs to log in to it."""

    folder: Path
    port: int
    host_key: Path
    user_key: Path
    known_hosts: Path
    empty_config: Path
    pid: int | None = None

    def spec(self, **other: object) -> HostSpec:
        """Return the playbook section that leads here."""
        values = {
            "address": "127.0.0.1",
            "user": getpass.getuser(),
            "port": self.port,
            "identity": str(self.user_key),
            "known_hosts": str(self.known_hosts),
            **other,
        }
        return HostSpec.model_validate(values)

    def session_pids(self) -> list[int]:
        """Return the server's processes for the connections it has now."""
        assert self.pid
        found, todo = [], [self.pid]
        while todo:
            children = _children(todo.pop())
            found += [c for c in children if Path(f"/proc/{c}/comm").read_text().startswith("sshd")]
            todo += children
        return found


def _children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _prepare(folder: Path, kind: str = "ed25519") -> Server:
    port = free_port()
    host_key = make_key(folder / "host_key", kind)
    user_key = make_key(folder / "user_key")
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {public(host_key)}\n")
    empty = folder / "ssh_config"
    empty.write_text("")
    return Server(folder, port, host_key, user_key, known, empty)


@contextlib.contextmanager
def openssh(
    folder: Path, options: Sequence[str] = (), kind: str = "ed25519", listen: str = "127.0.0.1"
) -> Iterator[Server]:
    """Run OpenSSH's sshd with generated keys."""
    need("sshd", "ssh-keygen")
    server = _prepare(folder, kind)
    (folder / "authorized").write_text(public(server.user_key) + "\n")
    config = folder / "sshd_config"
    lines = [
        *options,
        f"Port {server.port}",
        f"ListenAddress {listen}",
        f"HostKey {server.host_key}",
        f"AuthorizedKeysFile {folder}/authorized",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "UseDNS no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
    ]
    config.write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:  # where root's sshd confines the part that talks to strangers
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stderr=log)
    server.pid = process.pid
    try:
        _wait_for(listen, server.port, process, folder / "sshd.log")
        yield server
    finally:
        for pid in server.session_pids():
            for one in (signal.SIGKILL, signal.SIGCONT):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, one)
        process.kill()
        process.wait()


def _wait_for(listen: str, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection((listen, port), timeout=1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        else:
            return


@contextlib.contextmanager
def asyncssh_server(folder: Path) -> Iterator[Server]:
    """Run asyncssh's server in a thread, each command in a shell, as sshd does."""
    need("ssh-keygen")
    server = _prepare(folder)
    loop = asyncio.new_event_loop()
    up = threading.Event()
    over = asyncio.Event()

    async def serve() -> None:
        async with asyncssh.listen(
            "127.0.0.1",
            server.port,
            server_factory=_Forwarding,
            server_host_keys=[str(server.host_key)],
            authorized_client_keys=asyncssh.import_authorized_keys(public(server.user_key)),
            process_factory=_run_in_shell,
            encoding=None,
        ):
            up.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert up.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)


class _Forwarding(asyncssh.SSHServer):
    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return dest_host == "127.0.0.1"


async def _run_in_shell(process: asyncssh.SSHServerProcess[bytes]) -> None:
    # pumped by hand: process.redirect() loses the tail of large outputs here, and may read one pipe twice
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", process.command or "", stdin=pipe, stdout=pipe, stderr=pipe
    )
    feeding = asyncio.create_task(_pump(process.stdin, child.stdin))
    await asyncio.gather(_pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr))
    process.exit(await child.wait())
    feeding.cancel()


async def _pump(source: Any, sink: Any) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):  # the other side has closed
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    if isinstance(sink, asyncio.StreamWriter):
        sink.close()
