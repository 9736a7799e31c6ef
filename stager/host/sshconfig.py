"""Where an SSH address leads, as the operator's ssh_config says."""

from __future__ import annotations

import getpass
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from stager.errors import Unreachable

_FIND_TIMEOUT = 15
_MAX_HOPS = 8


@dataclass(frozen=True)
class Hop:
    """One machine to log in to.

    ``alias`` is what the operator wrote, ``name`` what is dialled; ``key_name`` is what known_hosts calls it;
    ``options`` are the words ``ssh`` needs before the alias to do the same.
    """

    alias: str
    name: str
    port: int
    user: str
    identities: tuple[Path, ...] = ()
    identities_only: bool = False
    agent: bool = True
    known_hosts: tuple[Path, ...] = ()
    key_alias: str | None = None
    proxy_command: str | None = None
    through: tuple[Hop, ...] = field(default=())
    options: tuple[str, ...] = ()

    @property
    def key_name(self) -> str:
        """The name in known_hosts: an alias as it is, otherwise the lower-case name, with the port unless it is 22."""
        if self.key_alias:
            return self.key_alias
        name = self.name.lower()
        return name if self.port == 22 else f"[{name}]:{self.port}"

    def by_hand(self, *options: str) -> str:
        """Return the ``ssh`` command that logs in there in the same way, for a person to type."""
        return shlex.join(["ssh", *options, *self.options, self.alias])

    @property
    def place(self) -> str:
        """``user@name:port``, with brackets where the name has colons."""
        return f"{self.user}@{bracketed(self.name)}:{self.port}"


def bracketed(name: str) -> str:
    """Return a host name as it is written before a ``:port``."""
    return f"[{name}]" if ":" in name else name


@dataclass(frozen=True)
class Asked:
    """What the playbook says about a login; None leaves it to ssh_config."""

    address: str
    user: str | None = None
    port: int | None = None
    jump: str | None = None
    identity: Path | None = None
    known_hosts: Path | None = None


def find(asked: Asked, config: Path | None = None) -> Hop:
    """Resolve an address, and the jump hosts before it, by ssh_config.

    OpenSSH itself is asked where it is installed (``ssh -G``), since only it knows every rule, ``Match exec``
    included; otherwise paramiko's parser reads ``~/.ssh/config``. The playbook's own values win.

    Args:
        asked: the playbook's values.
        config: another file in place of the operator's ssh_config.

    Raises:
        Unreachable: the configuration cannot be read, or its jump hosts go round in a circle.
    """
    return _find(asked, config, ())


def _find(asked: Asked, config: Path | None, seen: tuple[str, ...]) -> Hop:
    if asked.address.startswith("-") or not asked.address:
        raise Unreachable(f"{asked.address!r} is not an address.")
    if len(seen) >= _MAX_HOPS:
        raise Unreachable(f"The jump hosts of {seen[0]} go on for more than {_MAX_HOPS} hops: {' -> '.join(seen)}.")
    options = _ask_openssh(asked, config) if shutil.which("ssh") else _ask_paramiko(asked, config)
    jump = asked.jump if asked.jump is not None else _one(options, "proxyjump")
    command = _one(options, "proxycommand") if asked.jump is None else None
    name = _one(options, "hostname") or asked.address
    user = asked.user or _one(options, "user") or getpass.getuser()
    port = asked.port or int(_one(options, "port") or 22)
    agent = (_one(options, "identityagent") or "").lower() != "none"
    return Hop(
        alias=asked.address,
        name=name,
        port=port,
        user=user,
        identities=(asked.identity.expanduser(),) if asked.identity else _paths(options.get("identityfile", [])),
        identities_only=bool(asked.identity) or _one(options, "identitiesonly") == "yes",
        agent=agent,
        known_hosts=(asked.known_hosts.expanduser(),) if asked.known_hosts else _known_hosts(options),
        key_alias=_one(options, "hostkeyalias"),
        proxy_command=_fill(command, asked.address, name, port, user) if command else None,
        through=_jumps(jump, config, (*seen, asked.address)),
        options=_options(asked, config),
    )


def _options(asked: Asked, config: Path | None) -> tuple[str, ...]:
    """Say to ``ssh`` what the playbook says; the rest it reads in ssh_config itself."""
    words = ["-F", str(config)] if config else []
    words += ["-l", asked.user] if asked.user else []
    words += ["-p", str(asked.port)] if asked.port else []
    words += ["-J", asked.jump] if asked.jump else []
    words += ["-i", str(asked.identity.expanduser()), "-o", "IdentitiesOnly=yes"] if asked.identity else []
    words += ["-o", f"UserKnownHostsFile={asked.known_hosts.expanduser()}"] if asked.known_hosts else []
    return tuple(words)


def _jumps(jump: str | None, config: Path | None, seen: tuple[str, ...]) -> tuple[Hop, ...]:
    """Resolve ``a,b,c``: the first may have jump hosts of its own, each later one goes through those before it."""
    if not jump or jump == "none":
        return ()
    hops: list[Hop] = []
    for position, words in enumerate(jump.split(",")):
        user, name, port = split_place(words.strip())
        hop = _find(Asked(name, user, port, jump=None if position == 0 else "none"), config, seen)
        if position == 0:
            hops += hop.through
        hops.append(hop)
    return tuple(hops)


def split_place(words: str) -> tuple[str | None, str, int | None]:
    """Split ``[user@]host[:port]``, also ``ssh://`` forms and bracketed IPv6, into user, host and port."""
    words = words.removeprefix("ssh://").rstrip("/")
    user, _, place = words.rpartition("@")
    if place.startswith("["):
        name, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    elif place.count(":") == 1:
        name, _, port = place.partition(":")
    else:  # no port, or a bare IPv6 address
        name, port = place, ""
    if port and not port.isdecimal():
        raise Unreachable(f"{words!r} is not [user@]host[:port].")
    return user or None, name, int(port) if port else None


def _ask_openssh(asked: Asked, config: Path | None) -> dict[str, list[str]]:
    argv = ["ssh", "-G"]
    argv += ["-F", str(config)] if config else []
    argv += ["-l", asked.user] if asked.user else []
    argv += ["-p", str(asked.port)] if asked.port else []
    try:
        done = subprocess.run(
            [*argv, "--", asked.address],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_FIND_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise Unreachable(
            f"ssh_config did not resolve {asked.address} within {_FIND_TIMEOUT} s: a Match exec in it hangs."
        ) from None
    if done.returncode:
        raise Unreachable(
            f"ssh_config cannot be used for {asked.address}: {done.stderr.strip()}",
            next=f"ssh -G {shlex.quote(asked.address)}",
        )
    options: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        options.setdefault(key.lower(), []).append(value)
    return options


def _ask_paramiko(asked: Asked, config: Path | None) -> dict[str, list[str]]:
    path = config or Path.home() / ".ssh/config"
    try:
        parsed = paramiko.SSHConfig.from_path(str(path)) if path.exists() else paramiko.SSHConfig()
        found = dict(parsed.lookup(asked.address))
    except (OSError, paramiko.SSHException) as error:
        raise Unreachable(f"{path} cannot be used for {asked.address}: {error}") from None
    return {key: value if isinstance(value, list) else [str(value)] for key, value in found.items()}


def _one(options: dict[str, list[str]], key: str) -> str | None:
    values = [v for v in options.get(key, []) if v and v != "none"]
    if key == "identityagent" and options.get(key) == ["none"]:
        return "none"
    return values[0] if values else None


def _paths(values: list[str]) -> tuple[Path, ...]:
    if not values:
        values = [f"~/.ssh/{name}" for name in ("id_rsa", "id_ecdsa", "id_ed25519")]
    return tuple(Path(v.strip('"')).expanduser() for v in values if v != "none")


def _known_hosts(options: dict[str, list[str]]) -> tuple[Path, ...]:
    user = " ".join(options.get("userknownhostsfile", ["~/.ssh/known_hosts ~/.ssh/known_hosts2"]))
    every = " ".join(options.get("globalknownhostsfile", ["/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"]))
    words = [w for w in f"{user} {every}".split() if w != "none"]
    return tuple(Path(w).expanduser() for w in words)


def _fill(command: str, alias: str, name: str, port: int, user: str) -> str:
    """Fill a ProxyCommand's tokens (ssh_config(5): %h, %n, %p, %r, %%)."""
    tokens = {"h": name, "n": alias, "p": str(port), "r": user, "%": "%"}
    parts = command.split("%")
    filled = [parts[0]]
    rest = iter(parts[1:])
    for part in rest:
        if part == "":  # "%%"
            filled.append("%" + next(rest, ""))
        else:
            filled.append(tokens.get(part[0], "%" + part[0]) + part[1:])
    return "".join(filled)
