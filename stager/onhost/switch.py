"""The switch of a promotion: production's release link, a unit drop-in, a router's configuration file.

Each item is put in place atomically (private name, sync, rename), with what stood there before in the journal;
undoing one puts exactly that back. An item that somebody else changed meanwhile is left to him and reported.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import stat
from typing import Any, Dict, List, Optional

from . import processes, systemd
from .files import sync_folder, write_atomically

Item = Dict[str, Any]
State = Optional[Dict[str, Any]]


def state_of(path: str) -> State:
    """What stands at a path: a link's target, or a file's content and mode; None where nothing does.

    Raises:
        OSError: it is neither a link nor a regular file, or cannot be read.
    """
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(info.st_mode):
        return {"link": os.readlink(path)}
    if not stat.S_ISREG(info.st_mode):
        raise OSError("%s is neither a link nor a regular file" % path)
    with open(path, "rb") as file:
        data = file.read()
    return {
        "content": base64.b64encode(data).decode(),
        "sha256": hashlib.sha256(data).hexdigest(),
        "mode": stat.S_IMODE(info.st_mode),
        "uid": info.st_uid,
        "gid": info.st_gid,
    }


def put(path: str, wanted: State) -> None:
    """Make a path be exactly that, in one step that a crash cannot tear.

    Raises:
        OSError: the folder cannot be written.
    """
    if wanted is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with contextlib.suppress(OSError):  # a drop-in's folder that only we needed
            os.rmdir(os.path.dirname(path)) if path.endswith(".conf") and os.path.dirname(path).endswith(".d") else None
        with contextlib.suppress(FileNotFoundError):
            sync_folder(os.path.dirname(path))
        return
    if path.endswith(".conf") and os.path.dirname(path).endswith(".d"):
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    if "link" in wanted:
        private = "%s.stager-%d" % (path, os.getpid())
        with contextlib.suppress(FileNotFoundError):
            os.unlink(private)
        os.symlink(wanted["link"], private)
        os.rename(private, path)
        sync_folder(os.path.dirname(path))
        return
    write_atomically(path, base64.b64decode(wanted["content"]), int(wanted.get("mode", 0o644)))
    if os.geteuid() == 0 and "uid" in wanted:
        os.chown(path, wanted["uid"], wanted["gid"])


def same(one: State, other: State) -> bool:
    """Whether two states are the same to whoever reads the path (mode and owner apart)."""
    if one is None or other is None:
        return one is other
    if "link" in one or "link" in other:
        return one.get("link") == other.get("link")
    return digest_of(one) == digest_of(other)


def digest_of(state: Dict[str, Any]) -> str:
    """The digest of a file's content."""
    return str(state.get("sha256") or hashlib.sha256(base64.b64decode(state["content"])).hexdigest())


def reload_units(items: List[Item]) -> str:
    """Let systemd read unit files again where an item is one of its; returns why it failed."""
    if not any(systemd.is_pid_one() and item["path"].startswith(systemd.UNIT_FOLDERS) for item in items):
        return ""
    ran = processes.run(systemd.systemctl(False, "daemon-reload"), timeout=60)
    return "" if ran.ok else ran.words()


def listener_of(port_pids: List[int], folder: str) -> bool:
    """Whether one of the processes runs from a folder.

    By its executable, its working folder, its argv or a file it has mapped.
    """
    real = os.path.realpath(folder)
    return any(inside(pid, real) for pid in port_pids)


def inside(pid: int, folder: str) -> bool:
    """Whether a process belongs to a folder."""
    for name in ("exe", "cwd"):
        with contextlib.suppress(OSError):
            if below(os.readlink("/proc/%d/%s" % (pid, name)), folder):
                return True
    words = processes.command_line(pid).split(" ")
    if any(word.startswith("/") and below(os.path.realpath(word), folder) for word in words):
        return True
    with contextlib.suppress(OSError), open("/proc/%d/maps" % pid) as file:
        return any(folder + "/" in line for line in file)
    return False


def below(path: str, folder: str) -> bool:
    """Whether a path is the folder or in it."""
    return path == folder or path.startswith(folder + "/")
