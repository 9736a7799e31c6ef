"""From the playbook's ``host`` section to a host."""

from __future__ import annotations

from pathlib import Path

from stager.host.base import Host
from stager.host.dial import dial
from stager.host.local import LocalHost
from stager.host.ssh import SshHost
from stager.host.sshconfig import Asked, find
from stager.models.playbook import HostSpec


def connect(spec: HostSpec, *, timeout: float = 15, config: Path | None = None) -> Host:
    """Log in to the host a playbook names; ``local`` is this machine.

    Args:
        spec: the playbook's host section.
        timeout: seconds for each of connecting, banner, login and opening a channel.
        config: an ssh_config file in place of the operator's.

    Raises:
        HostKeyRefused: a host key on the way is unknown, changed, revoked or of another type.
        LoginRefused: no key was accepted.
        Unreachable: no route, no answer, no such name.
    """
    if spec.address == "local":
        return LocalHost()
    asked = Asked(
        address=spec.address.removeprefix("[").removesuffix("]"),
        user=spec.user,
        port=spec.port,
        jump=spec.jump,
        identity=Path(spec.identity) if spec.identity else None,
        known_hosts=Path(spec.known_hosts) if spec.known_hosts else None,
    )
    return SshHost(dial(find(asked, config), timeout), spec.address, timeout)
