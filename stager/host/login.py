"""Which keys to offer, in OpenSSH's order, and what to say when none was taken."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import paramiko
from paramiko.auth_strategy import (
    AuthFailure,
    AuthSource,
    AuthStrategy,
    InMemoryPrivateKey,
    OnDiskPrivateKey,
    SourceResult,
)

from stager.errors import LoginRefused
from stager.host.sshconfig import Hop


class KeyLogin(AuthStrategy):
    """Agent keys that the configuration names, key files, then the agent's other keys unless IdentitiesOnly."""

    def __init__(self, hop: Hop) -> None:
        super().__init__(ssh_config=paramiko.SSHConfig())
        self._hop = hop
        self._offered: list[str] = []
        self._locked: list[Path] = []
        self._unusable: list[str] = []

    def get_sources(self) -> Iterator[AuthSource]:
        """Yield the keys to try."""
        user = self._hop.user
        held = {key.asbytes(): key for key in paramiko.Agent().get_keys()} if self._hop.agent else {}
        for path in self._hop.identities:
            public = _public_blob(path)
            if public is not None and public in held:
                self._offered.append(f"{path} (from the agent)")
                yield InMemoryPrivateKey(user, held.pop(public))
            elif (key := self._load(path)) is not None:
                held.pop(key.asbytes(), None)
                self._offered.append(str(path))
                yield OnDiskPrivateKey(user, "ssh-config", path, key)
        if not self._hop.identities_only:
            for key in held.values():
                self._offered.append(f"{key.comment or key.get_name()} (from the agent)")
                yield InMemoryPrivateKey(user, key)

    def authenticate(self, transport: paramiko.Transport) -> list[SourceResult]:
        """Try the keys one by one.

        Raises:
            LoginRefused: none was accepted, or the host asks for more than a key.
        """
        try:
            result = super().authenticate(transport)
        except AuthFailure:
            # a broken connection is not a refusal
            if not transport.is_active() and (error := transport.get_exception()):
                raise error from None
            raise self._refusal() from None
        if not transport.is_authenticated():
            raise LoginRefused(
                f"{self._hop.alias} accepted a key but asks for a second factor, which stager cannot give.",
                next=self._hop.by_hand(),
            )
        return result

    def _load(self, path: Path) -> paramiko.PKey | None:
        try:
            key = paramiko.PKey.from_path(path)
        except FileNotFoundError:
            if self._hop.identities_only:
                self._unusable.append(f"{path} is not there")
            return None
        except Exception as error:  # noqa: BLE001 - the crypto library raises many types; all mean "not usable"
            # a TypeError from the loader is its way to say that a passphrase is needed
            if isinstance(error, (TypeError, paramiko.PasswordRequiredException)):
                self._locked.append(path)
            else:
                self._unusable.append(f"{path} cannot be read ({error})")
            return None
        certificate = path.with_name(path.name + "-cert.pub")
        if certificate.exists() and key.public_blob is None:
            key.load_certificate(str(certificate))
        return key

    def _refusal(self) -> LoginRefused:
        hop = self._hop
        tried = f"none of our keys for user {hop.user}: {', '.join(self._offered)}" if self._offered else ""
        words = [f"{hop.alias} accepted {tried}." if tried else f"There is no key to log in to {hop.alias} with."]
        words += [f"{path} has a passphrase and is not in the agent." for path in self._locked]
        words += [f"{why}." for why in self._unusable]
        add, copy = (
            f"ssh-add {self._locked[0]}" if self._locked else "",
            f"ssh-copy-id -p {hop.port} {hop.user}@{hop.name}",
        )
        return LoginRefused(" ".join(words), next=add or copy)


def _public_blob(path: Path) -> bytes | None:
    """Return the public key beside a key file; it tells which agent key is meant, even if the file is locked."""
    try:
        kind, blob = path.with_name(path.name + ".pub").read_text().split()[:2]
        return paramiko.PKey.from_type_string(kind, base64.b64decode(blob)).asbytes()
    except Exception:  # noqa: BLE001 - no usable .pub file is the common case
        return None
