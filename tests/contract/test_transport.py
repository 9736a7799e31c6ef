"""A channel's last words stay in order, against a real sshd."""

from __future__ import annotations

import time

import paramiko
from paramiko.common import cMSG_CHANNEL_EOF

from stager.host.connect import connect
from stager.host.ssh import SshHost

from .servers import Server
from .test_host import Echo, read_all


def test_a_late_end_of_file_does_not_end_the_connection(sshd: Server) -> None:
    """An end of file that leaves after the channel was closed would make sshd drop everything; it cannot."""
    host = connect(sshd.spec(), config=sshd.empty_config)
    assert isinstance(host, SshHost)
    transport = host._link.transport
    echo = Echo()
    channel = transport.open_channel("direct-tcpip", ("127.0.0.1", echo.port), ("127.0.0.1", 0))
    late = paramiko.Message()
    late.add_byte(cMSG_CHANNEL_EOF)
    late.add_int(channel.remote_chanid)
    with transport.sending(channel):  # a sender that has built its message and not sent it yet
        channel.eof_sent = True
        channel.close()
        time.sleep(0.3)
        transport._send_user_message(late)
    assert read_all(host.open(["echo", "alive"])) == b"alive\n"
    host.close()
    echo.listener.close()
