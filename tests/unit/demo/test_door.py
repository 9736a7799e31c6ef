"""The demo's SSH servers: each lets the demo in, carries commands and ports, and goes away."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from stager.clock import SystemClock
from stager.demo import door
from stager.demo.door import open_door
from stager.demo.place import Place, free_ports
from stager.demo.sshd import find_sshd
from stager.errors import Unreachable
from stager.host.connect import connect
from stager.host.onhost import OnHost
from stager.models.playbook import HostSpec


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A demo's folder with the parts a door needs."""
    for name in ("ssh", "production", "host"):
        (tmp_path / name).mkdir()
    (tmp_path / "production" / "service.py").write_bytes((Path(door.__file__).parent / "host/service.py").read_bytes())
    production, ssh = free_ports(2)
    return Place(tmp_path, tmp_path / "model", Path(sys.executable), production, ssh)


def try_out(host: HostSpec) -> None:
    """Start the host's program, ask it for something, and reach a port through the connection."""
    with socket.create_server(("127.0.0.1", 0)) as far:
        link = connect(host)
        try:
            with OnHost(link, state=host.state) as onhost:
                assert onhost.hello["state"] == host.state
                assert onhost.call("status", {})["boot_id"]
            with link.forward(far.getsockname()[1]) as forward:
                near = socket.create_connection(("127.0.0.1", int(forward.url.rpartition(":")[2])), timeout=10)
                with near, far.accept()[0] as arrived:
                    near.sendall(b"through")
                    assert arrived.recv(7) == b"through"
        finally:
            link.close()


@pytest.mark.skipif(find_sshd() is None, reason="sshd is not here: install openssh-server")
def test_opensshs_server_lets_the_demo_in_and_goes_away(place: Place) -> None:
    """A real sshd serves with the demo's keys alone; afterwards nobody listens."""
    with open_door(place, SystemClock()) as opened:
        assert "OpenSSH" in opened.words
        try_out(opened.host)
    with pytest.raises(Unreachable):
        connect(opened.host)


def test_the_librarys_server_does_where_sshd_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sshd the library's server does the same job, and the demo says so."""
    monkeypatch.setattr(door, "find_sshd", lambda: None)
    with open_door(place, SystemClock()) as opened:
        assert "asyncssh" in opened.words
        assert "not installed" in opened.words
        try_out(opened.host)
    with pytest.raises(Unreachable):
        connect(opened.host)


def test_an_sshd_that_will_not_run_is_told_of(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An sshd that refuses its configuration does not end the demo."""
    broken = place.root / "sshd"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 255\n")
    broken.chmod(0o755)
    monkeypatch.setattr(door, "find_sshd", lambda: str(broken))
    with open_door(place, SystemClock()) as opened:
        assert "no such luck" in opened.words
        try_out(opened.host)


def test_keys_are_for_this_user_alone(place: Place) -> None:
    """No private key is readable to anybody else, and the pinned host key is the only one known."""
    with open_door(place, SystemClock()) as opened:
        for name in ("host_key", "user_key"):
            assert (place.root / "ssh" / name).stat().st_mode & 0o077 == 0
        assert opened.host.known_hosts
        (line,) = Path(opened.host.known_hosts).read_text().splitlines()
        assert line.startswith(f"[127.0.0.1]:{place.ssh_port} ssh-ed25519 ")
