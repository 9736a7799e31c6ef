"""Keys of the demo's own for its SSH connection: a host key that is pinned, and a user key that is let in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Keys:
    """Files of one connection: private host key, private user key, who is let in, and which host is known."""

    host: Path
    user: Path
    authorized: Path
    known: Path


def make_keys(folder: Path, port: int) -> Keys:
    """Generate both keys, each file for this user alone."""
    import asyncssh  # an extra, and slow to load

    keys = Keys(folder / "host_key", folder / "user_key", folder / "authorized_keys", folder / "known_hosts")
    public = {}
    for path in (keys.host, keys.user):
        key = asyncssh.generate_private_key("ssh-ed25519", "stager demo")
        path.touch(mode=0o600)
        path.write_bytes(key.export_private_key())
        public[path] = key.export_public_key().decode().strip()
    keys.authorized.write_text(public[keys.user] + "\n")
    keys.known.write_text(f"[127.0.0.1]:{port} {public[keys.host]}\n")
    return keys
