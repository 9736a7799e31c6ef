"""An SSH server for the demo where OpenSSH's is not there: ``python -m stager.demo.ssh_server FOLDER PORT PATH``.

It lets in one key, runs commands as this user by the login shell, as sshd does, and forwards to loopback alone.
It ends when its standard input does, so that it cannot outlive the demo.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stager.demo.keys import Keys

if TYPE_CHECKING:
    import asyncssh


async def serve(keys: Keys, port: int, path: str) -> None:
    """Serve until standard input ends."""
    import asyncssh

    class Loopback(asyncssh.SSHServer):
        """Whoever holds the key may run commands, and reach this machine's loopback."""

        def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
            return dest_host == "127.0.0.1"

    listener = await asyncssh.listen(
        "127.0.0.1",
        port,
        server_factory=Loopback,
        server_host_keys=[str(keys.host)],
        authorized_client_keys=str(keys.authorized),
        process_factory=running(path),
        encoding=None,
        allow_scp=False,
        config=[],
    )
    print("listening", flush=True)  # noqa: T201 -- the demo waits for this line
    await asyncio.to_thread(sys.stdin.buffer.read)
    listener.close()


def running(path: str) -> Callable[[asyncssh.SSHServerProcess[bytes]], Any]:
    """Return what serves one command."""
    account = pwd.getpwuid(os.getuid())
    shell, home = account.pw_shell or "/bin/sh", account.pw_dir if Path(account.pw_dir).is_dir() else "/"
    environment = {
        "HOME": account.pw_dir,
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
        "SHELL": account.pw_shell,
        "PATH": path,
    }

    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            shell,
            "-c",
            process.command or ":",
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=home,
            env=environment,
            start_new_session=True,
        )
        feeding = asyncio.ensure_future(pump(process.stdin, child.stdin))
        await asyncio.gather(pump(child.stdout, process.stdout), pump(child.stderr, process.stderr))
        status = await child.wait()
        feeding.cancel()
        process.exit(status if status >= 0 else 128 - status)

    return run


async def pump(source: Any, sink: Any) -> None:  # noqa: ANN401 -- asyncio's streams and asyncssh's share no type
    """Carry bytes until the source ends; then end a child's input, too."""
    import asyncssh

    with contextlib.suppress(OSError, asyncssh.Error):  # the other side is gone
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    if isinstance(sink, asyncio.StreamWriter):
        sink.close()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    own = Keys(folder / "host_key", folder / "user_key", folder / "authorized_keys", folder / "known_hosts")
    asyncio.run(serve(own, int(sys.argv[2]), sys.argv[3]))
