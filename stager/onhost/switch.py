"""The switch of a promotion: production's release link, a unit drop-in, a router's configuration file.

A file's content is kept by its digest (``promotions.contents``), never in the journal: it may hold keys. What stood at
the path keeps its inode under a private name beside it until the run is over, so that going back is one rename, needs
no new space, and brings back owner, mode and times.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import stat
from typing import Any, Dict, List, Optional

from . import booted, processes, promotions, systemd
from .files import sync_folder, unlink_quietly, write_all
from .units import UNIT_FOLDERS

Item = Dict[str, Any]
State = Optional[Dict[str, Any]]

LARGEST = 1 << 20  # bytes of a file that is switched
MODE = 0o644  # of a file that was not there before


def state_of(path: str) -> State:
    """What stands at a path: a link's target, or a file's digest, mode and owner; None where nothing does.

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
    if info.st_size > LARGEST:
        raise OSError("%s is larger than %d bytes" % (path, LARGEST))
    digest = hashlib.sha256(read(path)).hexdigest()
    return {"sha256": digest, "mode": stat.S_IMODE(info.st_mode), "uid": info.st_uid, "gid": info.st_gid}


def read(path: str) -> bytes:
    """A file's bytes."""
    with open(path, "rb") as file:
        return file.read()


def same(one: State, other: State) -> bool:
    """Whether two states are the same to whoever reads the path (mode and owner apart)."""
    if one is None or other is None:
        return one is other
    return one.get("link") == other.get("link") and one.get("sha256") == other.get("sha256")


def problem(item: Item) -> str:
    """Why an item cannot be switched; empty when it can. Nothing is changed."""
    path = item["path"]
    folder = os.path.dirname(path)
    try:
        stood = state_of(path)
    except OSError as error:
        return str(error)
    if stood and "link" in (item["state"] or {}) and "link" not in stood:
        return "%s is a file, and the playbook would have a link there" % path
    while is_drop_in(path) and not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        return "the folder of %s is not there" % path
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_RDONLY:
        return "the folder of %s cannot be written" % path
    return ""


def stock(state: str, item: Item) -> Item:
    """Keep an item's new content, and what stands there now, by digest; returns the item without content.

    A file that is there already passes its mode and owner on to the new one.

    Raises:
        OSError: there is no space, or what stands there cannot be read.
    """
    path, wanted = item["path"], item["state"]
    stood = state_of(path)
    if stood and "sha256" in stood:
        promotions.keep_content(state, stood["sha256"], read(path))
    if wanted is None or "content" not in wanted:
        return item
    data = base64.b64decode(wanted["content"])
    digest = hashlib.sha256(data).hexdigest()
    promotions.keep_content(state, digest, data)
    known = stood if stood and "sha256" in stood else {"mode": MODE, "uid": os.geteuid(), "gid": os.getegid()}
    return {"path": path, "state": dict(known, sha256=digest)}


def is_drop_in(path: str) -> bool:
    """Whether a path is a drop-in in a unit's own folder."""
    return path.endswith(".conf") and os.path.dirname(path).endswith(".d") and path.startswith(UNIT_FOLDERS)


def aside(path: str, run_id: str) -> str:
    """Where what stood at a path waits until the run is over."""
    return os.path.join(os.path.dirname(path), ".%s.stager-%s" % (os.path.basename(path), run_id))


def put(state: str, path: str, wanted: State, run_id: str) -> None:
    """Make a path be exactly that, in one step that no crash can tear; what stood there waits beside it.

    Raises:
        OSError: the folder cannot be written, or the content is not kept.
    """
    folder = os.path.dirname(path)
    if is_drop_in(path):
        os.makedirs(folder, 0o755, exist_ok=True)
    if os.path.lexists(path):
        os.link(path, aside(path, run_id), follow_symlinks=False)
    place(state, path, wanted, run_id)


def place(state: str, path: str, wanted: State, run_id: str) -> None:
    """Put a state at a path, in one rename."""
    private = aside(path, run_id) + ".new"
    unlink_quietly(private)
    if wanted is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    else:
        if "link" in wanted:
            os.symlink(wanted["link"], private)
        else:
            write_private(private, promotions.content(state, wanted["sha256"]), wanted)
        os.rename(private, path)
    sync_folder(os.path.dirname(path))


def write_private(path: str, data: bytes, wanted: Dict[str, Any]) -> None:
    """Write a file under its private name; it has its mode and owner before it has its real name."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, data)
        if os.geteuid() == 0:
            os.fchown(fd, int(wanted["uid"]), int(wanted["gid"]))
        os.fchmod(fd, int(wanted["mode"]))
        os.fsync(fd)
    finally:
        os.close(fd)


def take_back(state: str, path: str, before: State, after: State, run_id: str) -> bool:
    """Put back what stood at a path; False where another hand changed it since, and it is left to him.

    Raises:
        OSError: the folder cannot be written.
    """
    now = state_of(path)
    ours = same(now, after) or same(now, before)
    if same(now, after) and not same(now, before):
        waiting = aside(path, run_id)
        if before is not None and os.path.lexists(waiting) and same(state_of(waiting), before):
            os.rename(waiting, path)
            sync_folder(os.path.dirname(path))
        else:
            place(state, path, before, run_id)
    settle(path, run_id)
    return ours


def stands(entry: Dict[str, Any]) -> bool:
    """Whether what a switch put in place stands there now, and is something else than what it replaced."""
    try:
        now = state_of(entry["path"])
    except OSError:
        return False
    return same(now, entry["after"]) and not same(now, entry["before"])


def settle(path: str, run_id: str) -> None:
    """Remove what a switch left beside a path, and a drop-in's folder that is empty."""
    for name in (aside(path, run_id), aside(path, run_id) + ".new"):
        unlink_quietly(name)
    if is_drop_in(path):
        with contextlib.suppress(OSError):  # not empty: others' drop-ins, or the one that was promoted
            os.rmdir(os.path.dirname(path))


def reload_units(items: List[Item]) -> str:
    """Let systemd read unit files again where an item is one of its; returns why it failed."""
    if not any(booted.is_pid_one() and item["path"].startswith(UNIT_FOLDERS) for item in items):
        return ""
    ran = processes.run(systemd.systemctl(False, "daemon-reload"), timeout=60)
    return "" if ran.ok else ran.words()
