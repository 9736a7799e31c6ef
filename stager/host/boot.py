"""Starting the program on the host, through whatever login shell, banner and sudo there is."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.errors import StagerError, Unreachable
from stager.host import failures
from stager.host.base import Host, Pipe
from stager.host.inbox import End, Inbox
from stager.host.program import Program

#: A cold Python behind a slow sudo on a busy machine (seconds, for each step of the handshake).
PATIENCE = 45.0

#: Runs the text that follows on standard input up to a NUL byte, and reads not a byte more.
_STUB = 'import os;exec(b"".join(iter(lambda:os.read(0,1)or bytes(1),bytes(1))))'


@dataclass(frozen=True)
class Booted:
    """A started program: its pipe, what arrives, its hello, and how it was started."""

    pipe: Pipe
    inbox: Inbox
    hello: dict[str, Any]
    sudo: bool
    python: str
    path: str
    state: str

    def restore_command(self, run: str | None) -> str:
        """Return the line a person would type on the host to restore by this same program."""
        words = [*(["sudo"] if self.sudo else []), self.python, "-I", self.path, "restore", self.state, run or "RUN"]
        return shlex.join(words)


def boot(host: Host, *, become: str, state: str | None, program: Program, python: str) -> Booted:
    """Start the program, sending its bytes first where the host lacks them.

    Raises:
        Refused: no usable Python, no sudo, no state folder.
        Unreachable: the connection broke, or nothing was said for ``PATIENCE`` seconds.
    """
    sudo = become == "sudo"
    try:
        return _boot(host, sudo, state, program, python)
    except _NotStarted as error:
        failed = error
    plain = _look(host, python) if sudo else None
    if plain is not None and plain["uid"] == 0:  # root needs no sudo, and minimal hosts have none
        return boot(host, become="none", state=state, program=program, python=python)
    raise _why(host.address, failed, plain, python)


class _NotStarted(Exception):
    """The command ended before it said anything of ours."""

    def __init__(self, status: int | None, stderr: str, noise: str) -> None:
        super().__init__(status)
        self.status = status
        self.stderr = stderr
        self.noise = noise


def _boot(host: Host, sudo: bool, state: str | None, program: Program, python: str) -> Booted:
    nonce = secrets.token_hex(16)
    # -n: sudo never asks; whatever it would print in whatever language, nobody waits for it
    pipe = host.open([*(["sudo", "-n", "--"] if sudo else []), python, "-I", "-c", _STUB])
    try:
        inbox = Inbox(pipe, nonce)
        start = f"\nsys.exit(main({nonce!r}, {program.sha256!r}, {len(program.bytes)}, {state!a}))\n"
        _offer(pipe, _loader().encode() + start.encode() + b"\0")
        loader = _hello(host.address, pipe, inbox)
        if loader.get("program") == "wanted":
            _offer(pipe, program.bytes)
        hello = loader if "problem" in loader else _hello(host.address, pipe, inbox)
        _raise_problem(host.address, hello)
    except BaseException:
        pipe.close()
        raise
    return Booted(
        pipe=pipe,
        inbox=inbox,
        hello=hello,
        sudo=sudo,
        python=loader["executable"],
        path=f"{loader['state']}/programs/{program.name}",
        state=loader["state"],
    )


def _loader() -> str:
    return (Path(__file__).parent / "loader.py").read_text("utf-8")


def _offer(pipe: Pipe, data: bytes) -> None:
    """Write, leaving it to the reading side to say why the far end would not take it."""
    with contextlib.suppress(Unreachable):  # the end of output, its status and standard error tell why
        pipe.write(data)


def _hello(address: str, pipe: Pipe, inbox: Inbox) -> dict[str, Any]:
    message = inbox.take(PATIENCE)
    if message is None:
        said = failures.clause(pipe.stderr_tail()) or failures.clause(inbox.noise.text())
        raise Unreachable(f"{address} started the command, but said nothing of ours for {PATIENCE:.0f} s{said}.")
    if isinstance(message, End):
        if message.why:
            raise Unreachable(f"{address} broke off while stager's program was starting: {message.why.rstrip('.')}.")
        raise _NotStarted(pipe.exit_status(5), _settled(pipe), inbox.noise.text())
    return message


def _settled(pipe: Pipe) -> str:
    """Return standard error once it has had a moment to arrive."""
    deadline = time.monotonic() + 0.5
    while not pipe.stderr_tail() and time.monotonic() < deadline:
        time.sleep(0.02)
    return pipe.stderr_tail()


def _raise_problem(address: str, hello: dict[str, Any]) -> None:
    problem = hello.get("problem")
    if problem == "python":
        raise failures.unusable_python(address, hello)
    if problem == "state":
        raise failures.unusable_state(address, hello)


#: Who runs Python without sudo. The values are plain ASCII, so that no json is needed.
_WHO = (
    "import os,sys,pwd;u=os.getuid();"
    """print('\\n%s {"uid":%d,"executable":"%s","user":"%s"}'%(sys.argv[1],u,sys.executable,pwd.getpwuid(u)[0]))"""
)


def _look(host: Host, python: str) -> dict[str, Any] | None:
    """Ask Python without sudo who we are; None if there is no Python either."""
    nonce = secrets.token_hex(16)
    pipe = host.open([python, "-I", "-c", _WHO, nonce])
    try:
        message = Inbox(pipe, nonce).take(PATIENCE)
    finally:
        pipe.close()
    return None if message is None or isinstance(message, End) else message


def _why(address: str, failed: _NotStarted, plain: dict[str, Any] | None, python: str) -> StagerError:
    if plain is not None:
        return failures.no_sudo(address, plain["user"], plain["executable"], failed.stderr)
    if failed.status in (126, 127):
        return failures.no_python(address, python, failed.stderr)
    return failures.no_start(address, failed.status, failed.stderr, failed.noise)
