"""Whom we trust and who lets us in, against a real sshd."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stager.errors import HostKeyRefused, LoginRefused, Unreachable
from stager.host.base import Host
from stager.host.connect import connect
from stager.models.playbook import HostSpec

from .servers import Server, free_port, make_key, openssh, public


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("keys")
    second = make_key(folder / "second_host_key", "ecdsa")
    with openssh(folder, [f"HostKey {second}"]) as made:
        yield made


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def reach(server: Server, **other: object) -> Host:
    return connect(server.spec(**other), config=server.empty_config, timeout=10)


def works(host: Host) -> bool:
    try:
        return host.open(["true"]).exit_status(5) == 0
    finally:
        host.close()


def known(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "known"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_an_unknown_key_is_refused(server: Server, tmp_path: Path) -> None:
    """A host that is in no known_hosts file is exit 10, with its fingerprint and the line to compare and add it."""
    with pytest.raises(HostKeyRefused, match="is unknown") as caught:
        reach(server, known_hosts=str(tmp_path / "none"))
    assert caught.value.exit_code == 10
    assert re.search(r"SHA256:\S{43}\.", caught.value.message)
    assert f"ssh-keyscan -p {server.port}" in caught.value.next
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not shutil.which("ssh-keyscan"), reason="needs OpenSSH's ssh-keyscan")
def test_the_line_to_type_makes_it_known(server: Server, tmp_path: Path) -> None:
    """Typing the given line adds the key, and the next connection works."""
    path = tmp_path / "known"
    with pytest.raises(HostKeyRefused) as caught:
        reach(server, known_hosts=str(path))
    done = subprocess.run(["bash", "-c", caught.value.next], capture_output=True, text=True, check=False)
    assert "SHA256:" in done.stdout
    assert works(reach(server, known_hosts=str(path)))


def test_a_changed_key_is_refused(server: Server, tmp_path: Path) -> None:
    """Another key of the same type is said to have changed, with the file and the ssh-keygen -R line."""
    other = make_key(tmp_path / "other")
    path = known(tmp_path, f"[127.0.0.1]:{server.port} {public(other)}")
    with pytest.raises(HostKeyRefused, match="has changed") as caught:
        reach(server, known_hosts=path)
    assert caught.value.next == f"ssh-keygen -f {path} -R '[127.0.0.1]:{server.port}'"


def test_a_key_of_another_type_is_refused(server: Server, tmp_path: Path) -> None:
    """Where only a key of a type is known that the host does not have, that is said, not 'changed'."""
    other = make_key(tmp_path / "other", "rsa")
    path = known(tmp_path, f"[127.0.0.1]:{server.port} {public(other)}")
    with pytest.raises(HostKeyRefused, match=r"another type than the known one \(ssh-rsa\)"):
        reach(server, known_hosts=path)


def test_the_known_type_is_asked_for(server: Server, tmp_path: Path) -> None:
    """A host with several keys is recognised by whichever one we know."""
    path = known(tmp_path, f"[127.0.0.1]:{server.port} {public(server.folder / 'second_host_key')}")
    assert works(reach(server, known_hosts=path))


def test_a_revoked_key_is_refused(server: Server, tmp_path: Path) -> None:
    """A key marked @revoked is refused even where another line would allow it."""
    line = f"[127.0.0.1]:{server.port} {public(server.host_key)}"
    with pytest.raises(HostKeyRefused, match="revoked"):
        reach(server, known_hosts=known(tmp_path, line, f"@revoked {line}"))


@pytest.mark.parametrize("names", ["hashed", "pattern", "list", "bare"])
def test_forms_of_known_names(server: Server, tmp_path: Path, names: str) -> None:
    """Hashed names, patterns, lists, and a name without the port are understood as OpenSSH does."""
    key, here = public(server.host_key), f"[127.0.0.1]:{server.port}"
    forms = {"pattern": "[127.0.0.*]:*", "list": f"example.org,{here},other", "bare": "127.0.0.1", "hashed": here}
    path = known(tmp_path, "# a comment", f"{forms[names]} {key}", *(["broken line"] if names != "hashed" else []))
    if names == "hashed":
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
        assert "127.0.0.1" not in Path(path).read_text()
    assert works(reach(server, known_hosts=path))


def test_a_negated_name_is_not_known(server: Server, tmp_path: Path) -> None:
    """A pattern with an exception does not hold for the excepted host."""
    here = f"[127.0.0.1]:{server.port}"
    with pytest.raises(HostKeyRefused, match="unknown"):
        reach(server, known_hosts=known(tmp_path, f"[127.0.0.*]:*,!{here} {public(server.host_key)}"))


def test_a_key_nobody_authorised_is_refused(server: Server, tmp_path: Path) -> None:
    """A user key the host does not know is LoginRefused: which key, which user, how to install it."""
    other = make_key(tmp_path / "other")
    with pytest.raises(LoginRefused, match=re.escape(str(other))) as caught:
        reach(server, identity=str(other))
    assert caught.value.exit_code == 10
    assert caught.value.next.startswith("ssh-copy-id -p")


def test_a_key_file_that_is_not_there_is_said(server: Server, tmp_path: Path) -> None:
    """A named key file that does not exist is named in the refusal."""
    with pytest.raises(LoginRefused, match=r"nowhere is not there"):
        reach(server, identity=str(tmp_path / "nowhere"))


def test_a_passphrase_without_agent_is_said(server: Server, tmp_path: Path) -> None:
    """A key with a passphrase and no agent is refused with the ssh-add line; nobody is asked for the passphrase."""
    locked = make_key(tmp_path / "locked", passphrase="open sesame")
    with pytest.raises(LoginRefused, match="has a passphrase and is not in the agent") as caught:
        reach(server, identity=str(locked))
    assert caught.value.next == f"ssh-add {locked}"


@contextlib.contextmanager
def agent_with(*keys: Path) -> Iterator[dict[str, str]]:
    said = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(SSH_\w+)=([^;]+);", said))
    try:
        subprocess.run(["ssh-add", "-q", *map(str, keys)], env={**os.environ, **found}, check=True, capture_output=True)
        yield found
    finally:
        os.kill(int(found["SSH_AGENT_PID"]), signal.SIGTERM)


@pytest.mark.skipif(not shutil.which("ssh-agent"), reason="needs OpenSSH's ssh-agent")
def test_the_agent_is_used(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key the agent holds logs in, with a locked file beside it, and behind seven keys the host does not want."""
    others = [make_key(tmp_path / f"other{i}") for i in range(7)]
    locked = tmp_path / "locked"
    shutil.copy(server.user_key, locked)
    shutil.copy(f"{server.user_key}.pub", f"{locked}.pub")
    with agent_with(*others, server.user_key) as agent:
        subprocess.run(
            ["ssh-keygen", "-q", "-p", "-N", "open sesame", "-f", str(locked)], check=True, capture_output=True
        )
        monkeypatch.setenv("SSH_AUTH_SOCK", agent["SSH_AUTH_SOCK"])
        assert works(reach(server, identity=str(locked)))


def test_nobody_listens(tmp_path: Path) -> None:
    """A port without a server is Unreachable at once, and says so."""
    port = free_port()
    with pytest.raises(Unreachable, match="refuses connections") as caught:
        connect(HostSpec(address="127.0.0.1", port=port, known_hosts=str(tmp_path / "known")), timeout=5)
    assert caught.value.next == f"ssh -v -p {port} -o UserKnownHostsFile={tmp_path}/known 127.0.0.1"


def test_a_server_that_says_nothing(tmp_path: Path) -> None:
    """A listener that never sends a banner is given up within the time limit, however often it is tried."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(Unreachable, match=r"SSH handshake|did not answer"):
            connect(HostSpec(address="127.0.0.1", port=silent.getsockname()[1]), timeout=1)
        assert time.monotonic() - began < 5


def test_a_name_that_does_not_resolve() -> None:
    """An unknown name is Unreachable with that reason."""
    with pytest.raises(Unreachable, match="cannot be resolved"):
        connect(HostSpec(address="no-such-host.invalid"), timeout=5)


def test_ssh_config_is_honoured(server: Server, tmp_path: Path) -> None:
    """HostName, Port, User, IdentityFile and UserKnownHostsFile come from ssh_config when the playbook is silent."""
    config = tmp_path / "config"
    config.write_text(
        f"Host gpu1\n HostName 127.0.0.1\n Port {server.port}\n User {getpass.getuser()}\n"
        f" IdentityFile {server.user_key}\n UserKnownHostsFile {server.known_hosts}\n"
    )
    host = connect(HostSpec(address="gpu1"), config=config)
    assert host.address == "gpu1"
    assert works(host)


@pytest.mark.skipif(not shutil.which("ssh"), reason="only OpenSSH evaluates Match exec")
def test_match_exec_is_honoured(server: Server, tmp_path: Path) -> None:
    """A Match exec block decides, which only OpenSSH itself can evaluate."""
    config = tmp_path / "config"
    config.write_text(
        f'Match originalhost gpu1 exec "test %n = gpu1"\n HostName 127.0.0.1\n Port {server.port}\n'
        f" User {getpass.getuser()}\n IdentityFile {server.user_key}\n UserKnownHostsFile {server.known_hosts}\n"
    )
    assert works(connect(HostSpec(address="gpu1"), config=config))


def test_an_ssh_config_that_cannot_be_read_is_said(server: Server, tmp_path: Path) -> None:
    """A mistake in ssh_config is Unreachable with OpenSSH's own words, not a traceback."""
    config = tmp_path / "config"
    config.write_text("Host gpu1\n Frobnicate yes\n")
    with pytest.raises(Unreachable, match="ssh_config cannot be used"):
        connect(HostSpec(address="gpu1"), config=config)


def test_a_host_key_alias(server: Server, tmp_path: Path) -> None:
    """With HostKeyAlias the key is looked up under that name alone."""
    config = tmp_path / "config"
    config.write_text("Host *\n HostKeyAlias the-box\n")
    path = known(tmp_path, f"the-box {public(server.host_key)}")
    assert works(connect(server.spec(known_hosts=path), config=config))
    with pytest.raises(HostKeyRefused, match="the-box"):
        connect(server.spec(), config=config)


def test_a_proxy_command(server: Server, tmp_path: Path) -> None:
    """A ProxyCommand carries the connection, with its tokens filled in."""
    relay = tmp_path / "relay.py"
    relay.write_text(
        "import os,socket,sys,threading\n"
        "s=socket.create_connection((sys.argv[1],int(sys.argv[2])))\n"
        "def up():\n"
        "    while (d:=os.read(0,65536)): s.sendall(d)\n"
        "    s.shutdown(1)\n"
        "threading.Thread(target=up,daemon=True).start()\n"
        "while (d:=s.recv(65536)): os.write(1,d)\n"
    )
    config = tmp_path / "config"
    config.write_text(f"Host *\n ProxyCommand python3 {relay} %h %p\n")
    assert works(connect(server.spec(), config=config))
