"""A host over one SSH connection."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import paramiko

from stager.errors import Unreachable
from stager.host.base import WRITE_STALL
from stager.host.command import shell_line
from stager.host.dial import Link
from stager.host.forward import SshForward, Stream
from stager.host.tail import Tail
from stager.host.transport import OrderlyChannel, OrderlyTransport

_TICK = 1.0


class SshHost:
    """Commands and forwarded ports as channels of one logged-in connection.

    Args:
        link: the connection.
        address: as the playbook gives it.
        timeout: seconds a channel may take to open.
    """

    def __init__(self, link: Link, address: str, timeout: float = 15) -> None:
        self._link = link
        self._timeout = timeout
        self._lively = False
        self.address = address

    def open(self, argv: Sequence[str]) -> SshPipe:
        """Start a command in a channel of its own, without a terminal."""
        line = shell_line(argv)
        try:
            channel = self._link.transport.open_session(timeout=self._timeout)
            # paramiko waits for the answer to an exec without a limit; closing the channel ends that wait
            with _closing_after(self._timeout, channel):
                channel.exec_command(line.encode())
        except (paramiko.SSHException, EOFError, OSError) as error:
            said = str(error).rstrip(".") or "the connection is gone"
            raise Unreachable(f"{self.address} does not start a command: {said}.") from error
        self._lively = True
        return SshPipe(self._link.transport, channel, self.address)

    def forward(self, port: int) -> SshForward:
        """Listen on a free loopback port here that leads to 127.0.0.1:``port`` there."""
        if not self._lively:
            # sshd sends small packets at once only after the connection's first exec; before, streams arrive bunched
            pipe = self.open([":"])
            pipe.exit_status(self._timeout)
            pipe.close()

        def channel() -> Stream:
            try:
                opened = self._link.transport.open_channel(
                    "direct-tcpip", ("127.0.0.1", port), ("127.0.0.1", 0), timeout=self._timeout
                )
            except paramiko.SSHException as error:
                raise ConnectionError(str(error)) from error
            return OrderlyChannel(self._link.transport, opened)

        return SshForward(channel)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


class SshPipe:
    """One exec channel."""

    def __init__(self, transport: OrderlyTransport, channel: paramiko.Channel, address: str) -> None:
        self._transport = transport
        self._channel = channel
        self._address = address
        self._tail = Tail()
        channel.settimeout(_TICK)
        # standard error shares the connection's flow control: undrained, it would stop standard output
        self._drain = threading.Thread(target=self._drain_stderr, name="stderr", daemon=True)
        self._drain.start()

    def _drain_stderr(self) -> None:
        while True:
            try:
                data = self._channel.recv_stderr(65536)
            except TimeoutError:
                continue
            except (OSError, EOFError):
                return
            if not data:
                return
            self._tail.feed(data)

    def read(self, size: int) -> bytes:
        """Return some of the command's output."""
        while True:
            try:
                data = self._channel.recv(size)
            except TimeoutError:
                continue
            except (OSError, EOFError) as error:
                raise self._lost() from error
            if not data and self._was_cut():
                raise self._lost()
            return data

    def _was_cut(self) -> bool:
        """Tell an end of output that the host announced from one that a broken connection made up."""
        if self._channel.eof_received or self._channel.exit_status != -1:
            return False
        # channels are closed a moment before the transport says that it is down
        deadline = time.monotonic() + 0.5
        while self._transport.is_active() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self._transport.is_active()

    def write(self, data: bytes) -> None:
        """Write to the command's input."""
        rest = memoryview(data)
        moved = time.monotonic()
        while rest:
            try:
                with self._transport.sending(self._channel):
                    taken = self._channel.send(bytes(rest[:65536]))
            except TimeoutError:
                if time.monotonic() - moved > WRITE_STALL:
                    raise Unreachable(f"{self._address} took no input for {WRITE_STALL:.0f} s.") from None
                continue
            except (OSError, EOFError, paramiko.SSHException) as error:
                raise self._lost() from error
            rest = rest[taken:]
            moved = time.monotonic()

    def _lost(self) -> Unreachable:
        if self._transport.is_active():
            return Unreachable(f"The command on {self._address} no longer reads its input.")
        return Unreachable(f"The connection to {self._address} is broken.")

    def end_input(self) -> None:
        """Send the end of the command's input."""
        broken = contextlib.suppress(OSError, EOFError, paramiko.SSHException)  # reading tells of a broken connection
        with broken, self._transport.sending(self._channel):
            self._channel.shutdown_write()

    def close(self) -> None:
        """Close the channel."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):  # a broken connection is closed already
            self._channel.close()

    def stderr_tail(self) -> str:
        """Return the end of the command's standard error."""
        return self._tail.text()

    def exit_status(self, timeout: float) -> int | None:
        """Return the status the host reported; None too where it was never reported, as on a broken connection."""
        self._channel.status_event.wait(timeout)
        status = self._channel.exit_status
        if status != -1:
            self._drain.join(0.2)  # so that the tail holds the last words
        return status if status != -1 else None


@contextmanager
def _closing_after(seconds: float, channel: paramiko.Channel) -> Iterator[None]:
    timer = threading.Timer(seconds, channel.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
