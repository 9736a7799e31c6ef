"""A real SSH server on loopback for the demo: OpenSSH's where it lets us in, otherwise one from a library."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from stager.clock import Clock
from stager.demo.keys import Keys, make_keys
from stager.demo.place import Place
from stager.demo.sshd import FOLDERS, config_text, find_sshd, usable
from stager.errors import StagerError
from stager.host.connect import connect
from stager.models.playbook import HostSpec

#: Seconds a server gets to let us in, and to end.
PATIENCE = 20.0


@dataclass(frozen=True)
class Door:
    """What leads in, and which server it is, in words."""

    host: HostSpec
    words: str


@contextmanager
def open_door(place: Place, clock: Clock) -> Iterator[Door]:
    """Run a server for as long as the body; what it needed is taken away afterwards.

    Raises:
        Unreachable: neither server lets us in.
    """
    keys = make_keys(place.root / "ssh", place.ssh_port)
    spec = HostSpec(
        address="127.0.0.1",
        user=getpass.getuser(),
        port=place.ssh_port,
        identity=str(keys.user),
        known_hosts=str(keys.known),
        state=str(place.state),
    )
    why = "not installed"
    if sshd := find_sshd():
        with _openssh(sshd, place, keys) as process:
            why = process if isinstance(process, str) else _lets_in(spec, process, clock)
            if not why:
                yield Door(spec, f"OpenSSH's sshd ({sshd})")
                return
    with _library(place) as process:
        if trouble := _lets_in(spec, process, clock):
            raise StagerError(f"No SSH server could be started for the demo: sshd: {why}; asyncssh: {trouble}.")
        yield Door(spec, f"the library asyncssh's server (sshd: {why})")


def command_path(place: Place) -> str:
    """The PATH of what is run over the connection: a Python that is new enough comes first."""
    folders = [str(place.python.parent), *os.get_exec_path(), "/usr/bin", "/bin", *FOLDERS[:3]]
    return os.pathsep.join(dict.fromkeys(folders))


@contextmanager
def _openssh(sshd: str, place: Place, keys: Keys) -> Iterator[subprocess.Popen[bytes] | str]:
    """Sshd as a child of ours; why not, where it would not run."""
    config = place.root / "ssh" / "sshd_config"
    config.write_text(config_text(keys, place.ssh_port, command_path(place)))
    why, made = usable(sshd, config)
    try:
        if why:
            yield why
        else:
            with _child(place, [sshd, "-D", "-e", "-f", str(config)]) as process:
                yield process
    finally:
        if made:
            with suppress(OSError):  # somebody else uses it by now
                made.rmdir()


@contextmanager
def _library(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    folder, path = str(place.root / "ssh"), command_path(place)
    argv = [sys.executable, "-m", "stager.demo.ssh_server", folder, str(place.ssh_port), path]
    with _child(place, argv) as process:
        yield process


@contextmanager
def _child(place: Place, argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a session of its own (a Ctrl-C is ours alone) that ends when we do, however we end."""
    tied = [str(place.python), "-I", str(place.root / "production" / "service.py"), "tied", *argv]
    with (place.root / "ssh" / "server.log").open("ab") as log:
        process = subprocess.Popen(tied, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        assert process.stdin
        process.stdin.close()
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _lets_in(spec: HostSpec, process: subprocess.Popen[bytes], clock: Clock) -> str:
    """Log in and run a command; returns why that does not work, empty when it does."""
    until, last = clock.monotonic() + PATIENCE, "it did not answer"
    while clock.monotonic() < until:
        if process.poll() is not None:
            return f"it ended with status {process.returncode}"
        try:
            host = connect(spec)
        except StagerError as error:
            last = error.message
            if error.kind in ("login-refused", "host-key-refused"):
                return last
            clock.sleep(0.1)
            continue
        try:
            pipe = host.open(["python3", "-c", ""])
            status = pipe.exit_status(PATIENCE)
            pipe.close()
            return "" if status == 0 else f"a command over it ended with {status}"
        except StagerError as error:
            return error.message
        finally:
            host.close()
    return last
