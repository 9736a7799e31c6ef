"""A port of the host, on the controller: directly, or through the SSH connection.

One thread carries each direction of each connection. A selector loop would save threads but adds a turn of its
own between two streams that arrive together; measured, the threads are the quieter path.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol, Self

_CHUNK = 65536


class Stream(Protocol):
    """The part of an SSH channel a forward uses."""

    def pour(self, near: socket.socket) -> None:
        """Write all that arrives to a socket, until the host's end."""

    def sendall(self, s: bytes, /) -> None:
        """Send all of it."""

    def shutdown_write(self) -> None:
        """Send an end of our side."""

    def close(self) -> None:
        """Close both sides."""


class _Closing:
    """``with`` for anything that has ``close``."""

    def close(self) -> None:
        """Overridden where there is something to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class DirectForward(_Closing):
    """The port itself, where controller and host are one machine."""

    path: Literal["direct", "ssh-forward"] = "direct"

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"


class SshForward(_Closing):
    """A listener on a free loopback port whose connections become channels of one SSH connection.

    Args:
        open_channel: opens one more channel to the host's port; raises OSError or EOFError where that is refused.
    """

    path: Literal["direct", "ssh-forward"] = "ssh-forward"

    def __init__(self, open_channel: Callable[[], Stream]) -> None:
        self._open_channel = open_channel
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._ends: set[socket.socket | Stream] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="forward", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:  # closed
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # opening waits for the host's answer; the next connection must not wait for this one
            threading.Thread(target=self._carry, args=(near,), name="forward-in", daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        try:
            far = self._open_channel()
        except (OSError, EOFError):  # nobody listens there: the caller sees its connection end
            near.close()
            return
        with self._lock:
            if self._closed:
                near.close()
                _close(far)
                return
            self._ends |= {near, far}
        back = threading.Thread(target=_from_host, args=(far, near), name="forward-out", daemon=True)
        back.start()
        _to_host(near, far)
        back.join()
        with self._lock:
            self._ends -= {near, far}
        _close(far)
        near.close()

    def close(self) -> None:
        """Stop listening, and end every connection in it."""
        with self._lock:
            self._closed = True
            ends = list(self._ends)
        with contextlib.suppress(OSError):  # wakes the accepting thread, which close alone does not
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in ends:
            if isinstance(end, socket.socket):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            else:
                _close(end)


def _close(far: Stream) -> None:
    with contextlib.suppress(OSError, EOFError):  # on a broken connection it is closed already
        far.close()


def _to_host(near: socket.socket, far: Stream) -> None:
    try:
        while data := near.recv(_CHUNK):
            far.sendall(data)
    except (OSError, EOFError):  # reset by the client, or the channel is gone: the host sees an end
        _close(far)
        return
    with contextlib.suppress(OSError, EOFError):
        far.shutdown_write()


def _from_host(far: Stream, near: socket.socket) -> None:
    try:
        far.pour(near)
    except (OSError, EOFError):
        _close(far)
    with contextlib.suppress(OSError):
        near.shutdown(socket.SHUT_WR)
