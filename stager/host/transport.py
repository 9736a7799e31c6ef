"""paramiko's transport, with a channel's last words in order.

paramiko builds a message under the channel's lock but sends it after letting go of it. A close from the other side,
answered by the transport's own thread in between, then overtakes data or an end of file; and OpenSSH ends the whole
connection over one packet for a channel that is gone ("ieof packet referred to nonexistent channel"), with every
stream and the program on it.
"""

from __future__ import annotations

import struct
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import paramiko

_CLOSE = 97  # SSH_MSG_CHANNEL_CLOSE, RFC 4254 section 9


class OrderlyTransport(paramiko.Transport):
    """Holds a channel's close back while somebody is sending on that channel."""

    def __init__(self, sock: object, **options: object) -> None:
        self._order = threading.Lock()
        self._sending: dict[int, int] = defaultdict(int)
        self._held_back: dict[int, paramiko.Message] = {}
        super().__init__(sock, **options)  # type: ignore[arg-type]

    @contextmanager
    def sending(self, channel: paramiko.Channel) -> Iterator[None]:
        """Send on a channel inside this; a close meanwhile wakes the sender, and goes out after it."""
        # The number cannot be given to another channel meanwhile: the far end frees it only on our close.
        number: int = channel.remote_chanid
        with self._order:
            self._sending[number] += 1
        try:
            yield
        finally:
            with self._order:
                self._sending[number] -= 1
                close = None
                if not self._sending[number]:
                    del self._sending[number]
                    close = self._held_back.pop(number, None)
            if close is not None and self.is_active():
                super()._send_user_message(close)  # type: ignore[misc]

    def _send_user_message(self, data: paramiko.Message) -> None:
        kind, number = struct.unpack_from(">BI", data.asbytes().ljust(5, b"\0"))
        if kind == _CLOSE:
            with self._order:
                if number in self._sending:
                    self._held_back[number] = data
                    return
        super()._send_user_message(data)  # type: ignore[misc]


class OrderlyChannel:
    """One channel as a byte stream, safe to close from either side at any time."""

    def __init__(self, transport: OrderlyTransport, channel: paramiko.Channel) -> None:
        self._transport = transport
        self._channel = channel

    def recv(self, nbytes: int, /) -> bytes:
        """Return what has arrived; ``b""`` at the end."""
        return self._channel.recv(nbytes)

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""
        with self._transport.sending(self._channel):
            self._channel.sendall(data)

    def shutdown_write(self) -> None:
        """Send an end of our side."""
        with self._transport.sending(self._channel):
            self._channel.shutdown_write()

    def close(self) -> None:
        """Close both sides."""
        self._channel.close()
