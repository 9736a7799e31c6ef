"""Is this the host we know? Unknown, changed, of another type and revoked are four different answers.

Host certificates (``@cert-authority`` lines) are not read: paramiko has no support for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import paramiko

from stager.errors import HostKeyRefused
from stager.host.sshconfig import Hop


class KnownKeys:
    """The keys that known_hosts files hold for one hop."""

    def __init__(self, hop: Hop) -> None:
        self._hop = hop
        self._known: dict[str, list[tuple[bytes, Path]]] = {}
        self._revoked: set[bytes] = set()
        self._portless: set[bytes] = set()
        for path in hop.known_hosts:
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            lines = path.read_text("utf-8", "replace").splitlines()
        except OSError:  # a file that is not there holds no keys
            return
        plain = [line for line in lines if not line.lstrip().startswith(("@", "#"))]
        revoked = [line.split(None, 1)[1] for line in lines if line.startswith("@revoked ") and len(line.split()) > 3]
        for kind, blob in _entries(plain, self._hop.key_name):
            self._known.setdefault(kind, []).append((blob, path))
        if (
            not self._hop.key_alias
        ):  # as OpenSSH: a key noted for the bare name will do where none is noted with the port
            self._portless |= {blob for _, blob in _entries(plain, self._hop.name)}
        self._revoked |= {blob for _, blob in _entries(revoked, self._hop.key_name)}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The key types known for this hop, in the files' order: the ones to ask the server for first."""
        return tuple(self._known)

    def check(self, key: paramiko.PKey) -> None:
        """Accept the key the server showed, or say exactly why not and what to type.

        Raises:
            HostKeyRefused: unknown, changed, of another type, or revoked.
        """
        blob, kind = key.asbytes(), key.get_name()
        if blob in self._revoked:
            raise self._refusal(key, f"is marked as revoked in {self._files()}. Somebody took that key out of use", "")
        if any(blob == known for known, _ in self._known.get(kind, [])):
            return
        if not self._known and blob in self._portless:
            return
        if kind in self._known:
            path = self._known[kind][0][1]
            raise self._refusal(
                key,
                f"has changed: {path} holds another {kind} key for it. Either the host was set up anew, or somebody "
                "stands between. Ask whoever runs the host; only then remove the old key",
                f"ssh-keygen -f {path} -R '{self._hop.key_name}'",
            )
        if self._known:
            raise self._refusal(
                key,
                f"is of another type than the known one ({', '.join(self._known)}). The host no longer offers "
                "that type, or another machine answers. Compare the fingerprint before you add this one",
                self._compare(kind),
            )
        raise self._refusal(
            key,
            f"is unknown: {self._files()} has no key for {self._hop.key_name}. Compare the fingerprint with the "
            "one shown on the host itself, then add the key",
            self._compare(kind),
        )

    def _files(self) -> str:
        return " or ".join(str(path) for path in self._hop.known_hosts[:2]) or "no known_hosts file"

    def _compare(self, kind: str) -> str:
        hop = self._hop
        if (
            hop.through or hop.proxy_command
        ):  # ssh-keyscan cannot go through a jump host; ssh asks and shows the fingerprint
            return hop.by_hand("-o", "StrictHostKeyChecking=ask")
        short = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}.get(kind, "ecdsa" if kind.startswith("ecdsa") else kind)
        target = hop.known_hosts[0] if hop.known_hosts else Path("~/.ssh/known_hosts")
        scan = f"ssh-keyscan -p {hop.port} -t {short} {hop.name}"
        return f"{scan} | tee /dev/stderr | ssh-keygen -lf - ; {scan} >> {target}"

    def _refusal(self, key: paramiko.PKey, why: str, next_line: str) -> HostKeyRefused:
        hop = self._hop
        return HostKeyRefused(
            f"The key of {hop.alias} ({hop.name}, port {hop.port}) {why}. "
            f"It showed {key.get_name()} {key.fingerprint}.",
            next=next_line,
        )


def _entries(lines: Iterable[str], name: str) -> Iterable[tuple[str, bytes]]:
    """Return (type, key) of the lines that name the host, hashed names and patterns included."""
    for line in lines:
        try:
            entry = paramiko.hostkeys.HostKeyEntry.from_line(" ".join(line.split()))
        except Exception:  # noqa: BLE001 - a broken line is no key; paramiko raises many types here
            continue
        if entry is None or entry.key is None:
            continue
        barred = any(p.startswith("!") and _matches(p[1:], name) for p in entry.hostnames)
        if not barred and any(_matches(p, name) for p in entry.hostnames):
            yield entry.key.get_name(), entry.key.asbytes()


def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith("|1|"):
        return paramiko.HostKeys.hash_host(name, pattern) == pattern
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern.replace("[", "[[]"))
    return pattern.lower() == name.lower()
