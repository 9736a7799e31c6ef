"""What a host looks like, as a value that can be compared: promises are kept when before equals after."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

# Every place where somebody may lay a unit file, an override, an enablement or a mask.
UNIT_FOLDERS = (
    "/etc/systemd/system", "/etc/systemd/system.control", "/run/systemd/system", "/run/systemd/system.control",
    "/run/systemd/transient", "/usr/local/lib/systemd/system",
)  # fmt: skip
STATE = ("LoadState", "ActiveState", "SubState", "UnitFileState")
UNIT_PROPERTIES = ("Id", *STATE, "InvocationID")
LISTEN = "0A"  # the kernel's number for a listening TCP socket, in /proc/net/tcp


@dataclass(frozen=True)
class Snapshot:
    """One moment of a host. All values are plain, so that `==` and `differences` mean what they say."""

    units: Mapping[str, tuple[str, ...]]  # name -> LoadState, ActiveState, SubState, UnitFileState
    invocations: Mapping[str, str] = field(compare=False)  # name -> InvocationID; a restart changes it
    ours: tuple[str, ...]  # loaded units named stager*
    unit_files: Mapping[str, tuple[object, ...]]  # path -> kind and what it holds; enablement and masks are links here
    files: Mapping[str, tuple[object, ...]]  # path -> kind, mode, mtime in ns, size, digest
    ports: tuple[str, ...]  # listening TCP sockets, as the kernel writes them, address:port in hex
    processes: tuple[tuple[str, ...], ...]  # argv of every process but PID 1 and sshd's

    def differences(self, after: Snapshot, *, but: Iterable[str] = (), invocations: bool = False) -> list[str]:
        """What is not the same in `after`, one line each; empty when nothing is.

        `but` names fields to pass over; with `invocations` a restarted unit counts as a difference too.
        """
        names = [each.name for each in fields(self) if each.name not in but]
        return [line for name in names if name != "invocations" or invocations for line in self._changes(name, after)]

    def _changes(self, name: str, after: Snapshot) -> Iterator[str]:
        old, new = getattr(self, name), getattr(after, name)
        if isinstance(old, Mapping):
            for key in sorted({*old, *new}):
                if old.get(key) != new.get(key):
                    yield f"{name}: {key}: {old.get(key, 'absent')} -> {new.get(key, 'absent')}"
        else:
            rest = list(new)
            for each in old:
                if each in rest:
                    rest.remove(each)
                else:
                    yield f"{name}: gone: {each}"
            yield from (f"{name}: new: {each}" for each in rest)


def units(shown: str) -> dict[str, dict[str, str]]:
    """The properties by unit, from what `systemctl show -p ...` printed."""
    blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown.strip().split("\n\n")]
    return {block["Id"]: block for block in blocks if block.get("Id")}


def state(unit: Mapping[str, str]) -> tuple[str, ...]:
    """LoadState, ActiveState, SubState and UnitFileState of a unit, in this order."""
    return tuple(unit.get(name, "") for name in STATE)


def tree(top: Path, folders: Iterable[str], *, only_files: bool = False) -> dict[str, tuple[object, ...]]:
    """Everything in folders of the host whose root is `top`: path -> kind, mode, mtime in ns, size, digest."""
    found = {path: describe(top / path.lstrip("/")) for folder in folders for path in walk(top, folder)}
    return {path: what for path, what in found.items() if what[0] != "folder" or not only_files}


def walk(top: Path, folder: str) -> Iterator[str]:
    """The paths, as the host sees them, of a folder and all in it; links are not followed."""
    start = top / folder.lstrip("/")
    if os.path.lexists(start):
        yield folder
    for here, folders, files in os.walk(start):
        inside = here[len(str(top)) :]
        yield from (f"{inside}/{name}" for name in (*folders, *files))


def describe(path: Path) -> tuple[object, ...]:
    """What a path is; a folder's mtime and size are left out, because they change with what is in it."""
    try:
        seen = path.lstat()
        if path.is_symlink():
            return ("link", str(path.readlink()))
        if path.is_dir():
            return ("folder", oct(seen.st_mode))
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        return ("file", oct(seen.st_mode), seen.st_mtime_ns, seen.st_size, digest)
    except FileNotFoundError:  # it went between the listing and now
        return ("gone",)


def ports(leader: int) -> tuple[str, ...]:
    """The listening TCP sockets of the host whose PID 1 is `leader`."""
    rows = [
        row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/{leader}/net/{name}").read_text().splitlines()
    ]
    return tuple(sorted(row[1] for row in rows if row[3] == LISTEN))


def of_a_timer(leader: int, pid: int) -> bool:
    """Whether a process belongs to a service that a timer of the same name, laid on the host, starts for a moment."""
    units = set(re.findall(r"/([^/\n]+)\.service$", Path(f"/proc/{pid}/cgroup").read_text(), re.MULTILINE))
    return any(Path(f"/proc/{leader}/root/etc/systemd/system/{unit}.timer").exists() for unit in units)


def processes(leader: int) -> dict[int, tuple[str, ...]]:
    """pid out here -> argv, for every process of the host but those that come and go by themselves.

    Those are PID 1 itself, sshd's sessions, and a timer's check under way.
    """
    space = os.readlink(f"/proc/{leader}/ns/pid")
    found = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if pid != leader and os.readlink(f"/proc/{pid}/ns/pid") == space:
                argv = tuple(Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0"))
                if argv != ("",) and not argv[0].startswith("sshd: ") and not of_a_timer(leader, pid):
                    found[pid] = argv
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended while we read, or is none that anybody may look into
    return found
