"""Jump hosts, IPv6, and many logins at once."""

from __future__ import annotations

import getpass
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stager.errors import HostKeyRefused, Unreachable
from stager.host.connect import connect

from .servers import Server, openssh, public


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def jump(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with openssh(tmp_path_factory.mktemp("jump")) as made:
        yield made


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    listen = "::1" if _has_ipv6() else "127.0.0.1"
    with openssh(tmp_path_factory.mktemp("target"), listen=listen) as made:
        yield made


@pytest.fixture
def config(jump: Server, target: Server, tmp_path: Path) -> Path:
    """An ssh_config with both, and both host keys known."""
    address = "::1" if _has_ipv6() else "127.0.0.1"
    known = tmp_path / "known"
    known.write_text(
        f"[127.0.0.1]:{jump.port} {public(jump.host_key)}\n[{address}]:{target.port} {public(target.host_key)}\n"
    )
    path = tmp_path / "config"
    path.write_text(
        f"Host jump\n HostName 127.0.0.1\n Port {jump.port}\n IdentityFile {jump.user_key}\n"
        f"Host target\n HostName {address}\n Port {target.port}\n IdentityFile {target.user_key}\n ProxyJump jump\n"
        f"Host circle\n ProxyJump circle2\nHost circle2\n ProxyJump circle\n"
        f"Host *\n User {getpass.getuser()}\n UserKnownHostsFile {known}\n GlobalKnownHostsFile /dev/null\n"
    )
    return path


def spec(address: str, **other: object) -> object:
    from stager.models.playbook import HostSpec

    return HostSpec.model_validate({"address": address, **other})


def test_a_jump_host_from_ssh_config(config: Path) -> None:
    """ProxyJump leads through; an IPv6 target behind an IPv4 jump host works, and each uses its own key."""
    host = connect(spec("target"), config=config)
    pipe = host.open(["echo", "there"])
    assert pipe.read(100) == b"there\n"
    host.close()


def test_a_jump_host_from_the_playbook(config: Path, target: Server, jump: Server) -> None:
    """The playbook's jump host wins over ssh_config's; 'none' means none."""
    host = connect(spec("target", jump=f"{getpass.getuser()}@jump:{jump.port}"), config=config)
    assert host.open(["true"]).exit_status(5) == 0
    host.close()
    host = connect(spec("target", jump="none"), config=config)
    assert host.open(["true"]).exit_status(5) == 0
    host.close()


def test_a_jump_hosts_key_is_checked_too(config: Path, jump: Server) -> None:
    """An unknown key of the jump host is refused, named as the jump host's."""
    known = config.parent / "known"
    known.write_text("\n".join(line for line in known.read_text().splitlines() if str(jump.port) not in line) + "\n")
    with pytest.raises(HostKeyRefused, match=r"key of jump .*is unknown"):
        connect(spec("target"), config=config)


def test_a_targets_key_behind_a_jump_is_compared_with_ssh(config: Path, target: Server) -> None:
    """ssh-keyscan cannot reach behind a jump host, so the line to type there is ssh itself."""
    known = config.parent / "known"
    known.write_text("\n".join(line for line in known.read_text().splitlines() if str(target.port) not in line) + "\n")
    with pytest.raises(HostKeyRefused, match=r"key of target .*is unknown") as caught:
        connect(spec("target"), config=config)
    assert caught.value.next == f"ssh -o StrictHostKeyChecking=ask -F {config} target"


def test_a_target_the_jump_host_cannot_reach(config: Path) -> None:
    """A closed port behind a jump host is Unreachable in words."""
    with pytest.raises(Unreachable, match="target"):
        connect(spec("target", port=1), config=config, timeout=5)


def test_jump_hosts_in_a_circle(config: Path) -> None:
    """Jump hosts that lead to each other are refused, with the way they go."""
    with pytest.raises(Unreachable, match="circle -> circle2"):
        connect(spec("circle"), config=config)


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 loopback")
def test_ipv6_in_brackets_and_without(config: Path, target: Server) -> None:
    """An IPv6 address may be written with or without brackets."""
    for address in ("::1", "[::1]"):
        host = connect(spec(address, port=target.port, identity=str(target.user_key)), config=config)
        assert host.open(["true"]).exit_status(5) == 0
        host.close()


def test_twenty_logins_at_once_behind_one_jump(config: Path) -> None:
    """Twenty connections started together through one jump host all succeed against sshd's default MaxStartups."""
    problems: list[BaseException] = []

    def one() -> None:
        try:
            host = connect(spec("target"), config=config, timeout=60)
            assert host.open(["true"]).exit_status(30) == 0
            host.close()
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert problems == []
