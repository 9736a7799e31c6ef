"""From a resolved address to a logged-in SSH connection."""

from __future__ import annotations

import logging
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import fabric  # type: ignore[import-untyped]
import paramiko
from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_after_delay, wait_random_exponential

from stager.errors import Unreachable
from stager.host.knownhosts import KnownKeys
from stager.host.login import KeyLogin
from stager.host.sshconfig import Hop
from stager.host.starts import start
from stager.host.transport import OrderlyTransport

# paramiko logs tracebacks of what we turn into sentences; without a handler they would go to standard error
logging.getLogger("paramiko").addHandler(logging.NullHandler())

#: After so long without an acknowledged byte the kernel gives the connection up (seconds).
SILENCE = 20

_CONFIG = fabric.Config(overrides={"load_ssh_configs": False}, ssh_config=paramiko.SSHConfig(), lazy=True)


class Link:
    """A logged-in connection, with those to the jump hosts it goes through."""

    def __init__(self, connections: list[fabric.Connection]) -> None:
        self._connections = connections
        transport = connections[-1].transport
        assert isinstance(transport, OrderlyTransport)
        self.transport: OrderlyTransport = transport

    def close(self) -> None:
        """Close all of it, the far end first."""
        for connection in reversed(self._connections):
            connection.close()


class _KnownHostsOnly(paramiko.RejectPolicy):
    """Rejects every key but the known ones.

    The client is given no keys of its own, so that this policy is asked every time, and can tell unknown,
    changed and other types apart.
    """

    def __init__(self, known: KnownKeys) -> None:
        self._known = known

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # type: ignore[override]
        self._known.check(key)


def dial(hop: Hop, timeout: float) -> Link:
    """Log in to a machine, through its jump hosts.

    Only the connecting is ever retried, and only when the far end hung up before it said who it is, as sshd does
    when many connect at once.

    Args:
        hop: where to.
        timeout: seconds for each of: connecting, the banner, the login; and for all retries together.

    Raises:
        HostKeyRefused: a key on the way is not the known one.
        LoginRefused: no key was accepted.
        Unreachable: everything else, in words.
    """
    connections: list[fabric.Connection] = []
    try:
        for each in (*hop.through, hop):
            with _in_words(each, timeout):
                connections.append(_dial_one(each, connections[-1] if connections else None, timeout))
    except BaseException:
        for connection in reversed(connections):
            connection.close()
        raise
    return Link(connections)


def _dial_one(hop: Hop, before: fabric.Connection | None, timeout: float) -> fabric.Connection:
    for attempt in Retrying(
        stop=stop_after_attempt(5) | stop_after_delay(timeout),
        wait=wait_random_exponential(multiplier=0.3, max=3),
        retry=retry_if_exception(_hung_up_early),
        reraise=True,
    ):
        with attempt, start(hop.name, hop.port):
            return _log_in(hop, _way(hop, before, timeout), timeout)
    raise AssertionError("unreachable: Retrying reraises")


def _hung_up_early(error: BaseException) -> bool:
    if isinstance(error, Unreachable):  # a key or a login that was refused will be refused again
        return False
    return isinstance(error, (ConnectionResetError, BrokenPipeError, EOFError)) or (
        isinstance(error, paramiko.SSHException) and "banner" in str(error)
    )


def _log_in(hop: Hop, way: socket.socket | paramiko.Channel, timeout: float) -> fabric.Connection:
    known = KnownKeys(hop)

    def factory(sock: socket.socket, **options: object) -> OrderlyTransport:
        transport = OrderlyTransport(sock, **options)
        security = transport.get_security_options()
        security.key_types = _known_first(security.key_types, known.kinds)
        return transport

    connection = fabric.Connection(
        hop.name,
        user=hop.user,
        port=hop.port,
        config=_CONFIG,
        connect_kwargs={
            "sock": way,
            "timeout": timeout,
            "banner_timeout": timeout,
            "auth_timeout": timeout,
            "channel_timeout": timeout,
            "transport_factory": factory,
            "auth_strategy": KeyLogin(hop),
        },
    )
    connection.client.set_missing_host_key_policy(_KnownHostsOnly(known))
    try:
        connection.open()
    except BaseException:
        connection.client.close()
        way.close()
        raise
    return connection


def _known_first(offered: Sequence[str], kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Order host key algorithms so that the server shows a key of a type we know, if it has one."""
    wanted = [a for kind in kinds for a in (("rsa-sha2-512", "rsa-sha2-256", kind) if kind == "ssh-rsa" else (kind,))]
    first = [a for a in wanted if a in offered]
    return (*first, *(a for a in offered if a not in first))


def _way(hop: Hop, before: fabric.Connection | None, timeout: float) -> socket.socket | paramiko.Channel:
    """Return the byte stream the SSH connection will run on."""
    if before is not None:
        transport: paramiko.Transport = before.transport
        return transport.open_channel("direct-tcpip", (hop.name, hop.port), ("127.0.0.1", 0), timeout=timeout)
    if hop.proxy_command:
        ours, theirs = socket.socketpair()
        with theirs:
            # words, not a shell: a ProxyCommand that needs one must name it (sh -c ...)
            subprocess.Popen(
                shlex.split(hop.proxy_command), stdin=theirs.fileno(), stdout=theirs.fileno(), start_new_session=True
            )
        return ours
    sock = socket.create_connection((hop.name, hop.port), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # small frames and tokens must not wait for each other
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_USER_TIMEOUT", SILENCE * 1000)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock


@contextmanager
def _in_words(hop: Hop, timeout: float) -> Iterator[None]:
    where = f"{hop.alias} ({hop.name}, port {hop.port})" if hop.alias != hop.name else f"{hop.name}, port {hop.port},"
    began = time.monotonic()
    check = hop.by_hand("-v")
    try:
        yield
    except Unreachable:
        raise
    except socket.gaierror as error:
        raise Unreachable(f"The name {hop.name} cannot be resolved: {error.strerror}.", next=check) from error
    except TimeoutError as error:
        waited = time.monotonic() - began
        raise Unreachable(f"{where} did not answer within {max(waited, timeout):.0f} s.", next=check) from error
    except ConnectionRefusedError as error:
        raise Unreachable(f"{where} refuses connections: no SSH server listens there.", next=check) from error
    except (paramiko.SSHException, EOFError) as error:
        said = str(error).rstrip(".") or "the connection ended during the handshake"
        raise Unreachable(f"{where} did not complete an SSH handshake: {said}.", next=check) from error
    except OSError as error:
        raise Unreachable(f"{where} cannot be reached: {error.strerror or error}.", next=check) from error
