"""What runs first on the host: says what is there, takes the program's bytes if they are not, and becomes it.

Its text is sent to ``python3 -I`` on the channel, so that it works before anything of ours is on the host. It must
parse on any Python 3, or an old one could not be told so; and it imports nothing at the top that
Debian's python3-minimal lacks, for the same reason.
"""

import os
import sys

NEEDED = ("hashlib", "json", "shutil", "subprocess", "tempfile")
OLDEST = (3, 9)


def say(nonce: str, fields: "dict[str, str]") -> None:
    """Write one line that no banner can imitate. Values are ASCII literals, so that JSON needs no json."""
    body = ", ".join('"%s": %s' % (key, fields[key]) for key in sorted(fields))
    os.write(1, ("\n%s {%s}\n" % (nonce, body)).encode("ascii"))


def text(value: str) -> str:
    """Return a JSON string literal without the json module."""
    return '"%s"' % "".join(
        c if " " <= c <= "~" and c not in '"\\' else "\\u%04x" % ord(c) if ord(c) < 65536 else "?" for c in value
    )


def lacking() -> "list[str]":
    """Return the needed modules that are not there."""
    missing = []
    for name in NEEDED:
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return missing


def default_state() -> str:
    """The same folder as onhost.state.default_state."""
    if os.geteuid() == 0:
        return "/var/lib/stager"
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "stager", "onhost")


def own_folder(path: str) -> None:
    """Make a folder that only we can write to; whoever else could would choose the code we run."""
    if not os.path.isdir(path):
        os.makedirs(path)
        os.chmod(path, 0o755)  # noqa: S103 - other users read who holds the host
    info = os.stat(path)
    if info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise OSError(1, "%s belongs to another user or can be written by others" % path)


def digest(path: str) -> "str | None":
    """Return a file's SHA-256, or None where there is no such file."""
    import hashlib

    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def receive(size: int) -> bytes:
    """Read exactly so many bytes; what follows on the same input is the program's."""
    parts = []
    while size:
        part = os.read(0, min(size, 65536))
        if not part:
            sys.exit(1)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def install(path: str, data: bytes) -> None:
    """Write the program under a private name, synced, then in its place."""
    draft = "%s.%d" % (path, os.getpid())
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.rename(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def main(nonce: str, sha256: str, size: int, state: "str | None") -> int:
    """Say what is there, fetch the program if need be, and become it."""
    facts = {
        "loader": "1",
        "python": text("%d.%d.%d" % sys.version_info[:3]),
        "executable": text(sys.executable or "python3"),
        "uid": str(os.geteuid()),
    }
    missing = [] if sys.version_info < OLDEST else lacking()
    if sys.version_info < OLDEST or missing:
        say(nonce, dict(facts, problem=text("python"), missing="[%s]" % ", ".join(text(m) for m in missing)))
        return 1
    state = state or default_state()
    facts["state"] = text(state)
    path = os.path.join(state, "programs", sha256 + ".pyz")
    try:
        own_folder(state)
        own_folder(os.path.dirname(path))
        there = digest(path) == sha256
        say(nonce, dict(facts, program=text("there" if there else "wanted")))
        if not there:
            data = receive(size)
            import hashlib

            if hashlib.sha256(data).hexdigest() != sha256:
                raise OSError(5, "the program's bytes arrived damaged")
            install(path, data)
        os.execv(sys.executable, [sys.executable, "-I", path, "serve", "--nonce", nonce, "--state", state])
    except OSError as error:
        said = error.strerror or str(error)
        if error.filename:
            said = "%s: %s" % (error.filename, said)
        say(nonce, dict(facts, problem=text("state"), said=text(said)))
        return 1
