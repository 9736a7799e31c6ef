"""From what the playbook and ssh_config say to where we dial."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import Unreachable
from stager.host import sshconfig
from stager.host.sshconfig import Asked, find, split_place

CONFIG = """
Host gpu1
  HostName gpu1.example.org
  Port 2200
  User ops
  IdentityFile ~/.ssh/special
  IdentitiesOnly yes
  UserKnownHostsFile ~/.ssh/known_gpu
  ProxyJump a@first:2201,second
Host first
  ProxyJump zeroth
Host second
  Port 2202
  ProxyJump elsewhere
Host command
  Port 5
  User u
  ProxyCommand nc %h %p %% %r@%n
"""


@pytest.fixture(params=["openssh", "paramiko"])
def config(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same file, read by OpenSSH and by paramiko."""
    if request.param == "paramiko":
        monkeypatch.setattr(sshconfig.shutil, "which", lambda _: None)
    elif not sshconfig.shutil.which("ssh"):
        pytest.skip("needs ssh (apt-get install openssh-client)")
    path = tmp_path / "config"
    path.write_text(CONFIG)
    return path


def test_the_file_decides_where_the_playbook_is_silent(config: Path) -> None:
    """Name, port, user, keys and known_hosts come from ssh_config."""
    hop = find(Asked("gpu1"), config)
    assert (hop.alias, hop.name, hop.port, hop.user) == ("gpu1", "gpu1.example.org", 2200, "ops")
    assert [p.name for p in hop.identities] == ["special"]
    assert hop.identities_only
    assert hop.known_hosts[0].name == "known_gpu"
    assert hop.key_name == "[gpu1.example.org]:2200"
    assert find(Asked("gpu1")).by_hand() == "ssh gpu1"  # it reads its configuration itself


def test_the_playbook_wins(config: Path, tmp_path: Path) -> None:
    """Port, user, key, known_hosts and jump of the playbook are the ones used."""
    asked = Asked("gpu1", user="me", port=99, jump="none", identity=tmp_path / "key", known_hosts=tmp_path / "known")
    hop = find(asked, config)
    assert (hop.user, hop.port, hop.through) == ("me", 99, ())
    assert hop.by_hand("-v") == (
        f"ssh -v -F {config} -l me -p 99 -J none -i {tmp_path}/key -o IdentitiesOnly=yes "
        f"-o UserKnownHostsFile={tmp_path}/known gpu1"
    )
    assert hop.identities == (tmp_path / "key",)
    assert hop.known_hosts == (tmp_path / "known",)


def test_jump_hosts_in_their_order(config: Path) -> None:
    """The first jump host's own jump host comes before it; a later one's own is not asked, as in OpenSSH."""
    hops = find(Asked("gpu1"), config).through
    assert [(h.alias, h.port) for h in hops] == [("zeroth", 22), ("first", 2201), ("second", 2202)]
    assert hops[1].user == "a"


def test_a_proxy_command_is_filled_in(config: Path) -> None:
    """%h, %p, %r, %n and %% are filled in."""
    hop = find(Asked("command"), config)
    assert hop.proxy_command == "nc command 5 % u@command"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("host", (None, "host", None)),
        ("u@host:22", ("u", "host", 22)),
        ("u@[fe80::1%eth0]:22", ("u", "fe80::1%eth0", 22)),
        ("fe80::1%eth0", (None, "fe80::1%eth0", None)),
        ("ssh://u@host:2222/", ("u", "host", 2222)),
    ],
)
def test_places(words: str, parts: tuple[str | None, str, int | None]) -> None:
    """[user@]host[:port] is split, IPv6 with and without brackets, with a zone."""
    assert split_place(words) == parts


@pytest.mark.parametrize("address", ["-oProxyCommand=x", ""])
def test_an_address_that_is_an_option_is_refused(address: str) -> None:
    """What ssh would take for an option is no address."""
    with pytest.raises(Unreachable):
        find(Asked(address))
