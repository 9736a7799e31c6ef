"""What a host is: a place to open one command's pipe, and to reach one port of."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

#: How long a write may make no progress before its peer counts as dead (seconds).
WRITE_STALL = 20.0


@runtime_checkable
class Pipe(Protocol):
    """One command running on the host, its standard input and output connected, without a terminal."""

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes of standard output as soon as some are there; ``b""`` at its end.

        Raises:
            Unreachable: the connection broke before the output ended.
        """

    def write(self, data: bytes) -> None:
        """Write all of ``data`` to standard input.

        Raises:
            Unreachable: nobody reads there any more, or nothing was taken for ``WRITE_STALL`` seconds.
        """

    def end_input(self) -> None:
        """Close standard input only; output can still be read."""

    def close(self) -> None:
        """Close both directions; the command sees the end of its input. It is not killed."""

    def stderr_tail(self) -> str:
        """Return the last of what the command wrote to standard error (at most 16 KiB)."""

    def exit_status(self, timeout: float) -> int | None:
        """Return the command's exit status, or None if it has not ended after ``timeout`` seconds."""


class Forward(Protocol):
    """A port of the host's loopback, reachable from the controller; a context manager."""

    url: str
    path: Literal["direct", "ssh-forward"]

    def close(self) -> None:
        """Stop listening and end the connections in it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Host(Protocol):
    """A machine commands run on."""

    @property
    def address(self) -> str:
        """The address as the playbook gives it."""

    def open(self, argv: Sequence[str]) -> Pipe:
        """Start exactly these words as a command, whatever the login shell.

        A program that does not exist is not an error here: its pipe ends with status 127, as in a shell.

        Raises:
            Unreachable: the connection is gone.
        """

    def forward(self, port: int) -> Forward:
        """Make the host's 127.0.0.1:``port`` reachable on the controller."""

    def close(self) -> None:
        """Close the connection and everything that rides on it."""
