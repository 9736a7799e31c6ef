"""Marker files: made so that no crash leaves one we do not know, cleared only if they are exactly what we made.

Made: a private name in the same folder, read back, journalled, then linked into place (which fails if the name
exists). Cleared: compared (regular file, mtime in ns, size; inode and digest for rewrites that keep both), moved to a
private name, compared again, and only then removed; a stranger's file that slipped in between is put back.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import time
from typing import Any, Dict, Iterable, List, Optional, Set

from .files import digest_file, sync_folder

Identity = Dict[str, Any]


def private_name(path: str, run_id: str) -> str:
    """The name, in the marker's own folder, under which a run prepares it and clears it.

    A leading dot keeps it out of globs.
    """
    return os.path.join(os.path.dirname(path), ".%s.stager-%s" % (os.path.basename(path), run_id))


def read_back(path: str) -> Optional[Identity]:
    """What identifies a marker, read from the file itself without following links; None when there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        folder = os.stat(os.path.dirname(path))
        return {
            "mtime_ns": info.st_mtime_ns,
            "size": info.st_size,
            "ino": info.st_ino,
            "dev": info.st_dev,
            "sha256": digest_file("/proc/self/fd/%d" % fd),
            "folder_ino": folder.st_ino,
            "folder_dev": folder.st_dev,
        }
    finally:
        os.close(fd)


def prepare(path: str, content: bytes, mode: int, run_id: str) -> Identity:
    """Write the marker under its private name and read it back.

    Raises:
        OSError: the folder is not there or cannot be written; FileExistsError: the private name is taken.
    """
    private = private_name(path, run_id)
    fd = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)
        os.write(fd, content)
        os.fsync(fd)
    finally:
        os.close(fd)
    identity = read_back(private)
    assert identity is not None
    return identity


def publish(path: str, run_id: str) -> None:
    """Link the prepared marker into place.

    Raises:
        FileExistsError: the name is taken; whatever has it is not ours.
    """
    private = private_name(path, run_id)
    os.link(private, path, follow_symlinks=False)
    os.unlink(private)
    sync_folder(os.path.dirname(path))


def difference(path: str, recorded: Identity) -> str:
    """Why what stands at a path is not the marker we made, as the end of a sentence; empty when it is exactly that."""
    try:
        folder = os.stat(os.path.dirname(path))
        info = os.lstat(path)
    except FileNotFoundError:
        return "is gone" if os.path.isdir(os.path.dirname(path)) else "is gone: its folder was moved or removed"
    except NotADirectoryError:
        return "is gone: its folder is no folder now"
    if (folder.st_ino, folder.st_dev) != (recorded.get("folder_ino"), recorded.get("folder_dev")):
        return "stands in another folder than the one we made it in"
    if stat.S_ISLNK(info.st_mode):
        return "is a symbolic link now"
    if not stat.S_ISREG(info.st_mode):
        return "is not a regular file now"
    if info.st_mtime_ns != recorded["mtime_ns"]:
        return "was touched or rewritten: its mtime is %s, ours was %s" % (
            moment(info.st_mtime_ns),
            moment(recorded["mtime_ns"]),
        )
    if info.st_size != recorded["size"]:
        return "was rewritten: its size is %d, ours was %d" % (info.st_size, recorded["size"])
    if (info.st_ino, info.st_dev) != (recorded["ino"], recorded["dev"]):
        return "was replaced by another file of the same mtime and size"
    now = read_back(path)
    if now is None or now["sha256"] != recorded["sha256"]:
        return "was rewritten in place; its mtime and size were put back"
    return ""


def clear(path: str, recorded: Identity, run_id: str) -> str:
    """Remove our marker. Returns why it was left, or nothing when it is cleared (also when a reboot swept it away)."""
    private = private_name(path, run_id)
    unprepared(path, recorded, run_id)
    why = difference(path, recorded)
    if why:
        return why
    os.rename(path, private)
    after = read_back(private)
    if after != recorded:
        return put_back(path, private)
    os.unlink(private)
    sync_folder(os.path.dirname(path))
    return ""


def put_back(path: str, private: str) -> str:
    """A stranger's file came between the look and the move: give it its name back, without overwriting a newer one."""
    try:
        os.link(private, path, follow_symlinks=False)
    except FileExistsError:
        return "changed at the very moment of clearing; what stood there is kept as %s" % private
    except OSError:  # a folder cannot be linked
        os.rename(private, path)
        return "was turned into a folder at the very moment of clearing"
    os.unlink(private)
    return "changed at the very moment of clearing"


def unprepared(path: str, recorded: Identity, run_id: str) -> None:
    """Remove what a crash left under the private name, if it is the file we made (its name holds our run)."""
    private = private_name(path, run_id)
    left = read_back(private)
    if left and left["ino"] == recorded.get("ino", left["ino"]):
        with contextlib.suppress(OSError):
            os.unlink(private)


def sweep(path: str, run_id: str) -> None:
    """Remove what is left under the private name, on record or not: its name holds our run, so it is ours."""
    private = private_name(path, run_id)
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.lstat(private).st_mode):
            os.unlink(private)


def swept_by_reboot(rebooted: bool, folder_kind: str) -> bool:
    """Whether a missing marker needs no words: it lay in memory and the host was rebooted since."""
    return rebooted and folder_kind in ("tmpfs", "ramfs")


def matching(patterns: Iterable[str]) -> List[str]:
    """Every existing path that matches one of the patterns; broken links count (somebody laid them)."""
    found = set()
    for pattern in patterns:
        found.update(glob.glob(pattern))
        if not glob.has_magic(pattern) and os.path.lexists(pattern):
            found.add(pattern)
    return sorted(found)


def foreign(patterns: Iterable[str], ours: Dict[str, Identity]) -> List[Dict[str, Any]]:
    """The markers that are not ours: path, why, since when (mtime)."""
    found = []
    for path in matching(patterns):
        why = difference(path, ours[path]) if path in ours else "was not made by this run"
        if not why or why.startswith("is gone"):
            continue
        with contextlib.suppress(OSError):
            found.append({"path": path, "why": why, "since": moment(os.lstat(path).st_mtime_ns)})
    return found


def in_the_way(spec: Dict[str, Any], ours: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Foreign markers in the way: those that match ``respect`` and stand where we made none of our own."""
    own_paths = {marker["path"] for marker in spec["markers"]} | set(ours)
    return [entry for entry in foreign(spec["respect"], ours) if entry["path"] not in own_paths]


def taken_over(spec: Dict[str, Any], ours: Dict[str, Identity], services: Set[str]) -> List[Dict[str, Any]]:
    """Where we made a marker that a service of production obeys, and something else stands now.

    No start brings such a service up, so it is held down as by any foreign marker.
    """
    obeyed = [m["path"] for m in spec["markers"] if m["path"] in ours and services & set(m.get("obeyed_by", ()))]
    return foreign(map(glob.escape, obeyed), ours)


def moment(ns: int) -> str:
    """A wall-clock time with nanoseconds, for people who compare two of them."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + ".%09dZ" % (ns % 10**9)
