"""The release as it will run: put in place by content, prepared, made read-only, digested.

A tree lives at ``<state>/trees/<key>``; the key is the digest of its manifest and its ``prepare`` commands, so the same
release is laid once. ``<key>.unfinished`` stands beside it until it is whole.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pwd
import stat
from typing import Any, Dict, List, Optional, Sequence

from .faults import Refused
from .files import digest_file, remove_tree, sync_folder, unlink_quietly, walk, write_all

KEEP = 3  # whole trees kept for the next run of the same release


class Tree:
    """One release on this host."""

    def __init__(self, state: str, key: str) -> None:
        if not key.isalnum():
            raise Refused("a tree's key is letters and digits, not %r" % key)
        self.folder = os.path.join(state, "trees", key)
        self.unfinished = self.folder + ".unfinished"

    def whole(self) -> bool:
        """Whether it is there, all of it."""
        return os.path.isdir(self.folder) and not os.path.exists(self.unfinished)

    def begin(self) -> None:
        """Start laying it; what an earlier try left is removed."""
        os.makedirs(os.path.dirname(self.folder), 0o711, exist_ok=True)
        with open(self.unfinished, "w"):
            pass
        remove_tree(self.folder)
        os.mkdir(self.folder, 0o755)

    def put(self, path: str, data: str, mode: int, link: Optional[str] = None, more: bool = False) -> None:
        """Add (a part of) one file: base64, appended in order; or a symbolic link that stays inside."""
        full = inside(self.folder, path)
        os.makedirs(os.path.dirname(full), 0o755, exist_ok=True)
        if link is not None:
            inside(self.folder, os.path.join(os.path.dirname(path), link))
            os.symlink(link, full)
            return
        fd = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            write_all(fd, base64.b64decode(data))
            if not more:
                os.fchmod(fd, mode)
                os.fsync(fd)
        finally:
            os.close(fd)

    def check(self, manifest: Sequence[Dict[str, Any]]) -> None:
        """Hold the files against the manifest.

        Raises:
            Refused: a file is missing, other, or too many.
        """
        have = {entry["path"]: entry for entry in self.manifest()}
        wrong = [entry["path"] for entry in manifest if have.get(entry["path"]) != entry]
        extra = sorted(set(have) - {entry["path"] for entry in manifest})
        if wrong or extra:
            raise Refused("the release did not arrive as it was sent: %s" % ", ".join((wrong + extra)[:5]))

    def manifest(self) -> List[Dict[str, Any]]:
        """Path, mode (as git writes it) and SHA-256 of every file (links: of where they point).

        Compiled files left out.
        """
        entries = []
        for path in walk(self.folder):
            full = os.path.join(self.folder, path)
            info = os.lstat(full)
            if stat.S_ISLNK(info.st_mode):
                entries.append(
                    {"path": path, "mode": "120000", "sha256": hashlib.sha256(os.readlink(full).encode()).hexdigest()}
                )
            elif not path.endswith(".pyc"):
                executable = bool(info.st_mode & 0o100)
                entries.append(
                    {"path": path, "mode": "100755" if executable else "100644", "sha256": digest_file(full)}
                )
        return entries

    def finish(self) -> None:
        """Make it read-only and ours, and whole."""
        if os.geteuid() == 0:
            own(self.folder, 0)
        for folder, names, files in os.walk(self.folder):
            for name in files + names:
                full = os.path.join(folder, name)
                if not os.path.islink(full):
                    os.chmod(full, stat.S_IMODE(os.lstat(full).st_mode) & ~0o222)
        os.chmod(self.folder, 0o555)
        unlink_quietly(self.unfinished)
        sync_folder(os.path.dirname(self.folder))

    def discard(self) -> None:
        """Remove it if it never became whole."""
        if os.path.exists(self.unfinished):
            remove_tree(self.folder)
            unlink_quietly(self.unfinished)


def prune(state: str, keep: Sequence[str]) -> None:
    """Remove all whole trees but the newest few and those in use."""
    folder = os.path.join(state, "trees")
    names = (
        [n for n in os.listdir(folder) if n not in keep and not n.endswith(".unfinished")]
        if os.path.isdir(folder)
        else []
    )
    names.sort(key=lambda name: os.lstat(os.path.join(folder, name)).st_mtime, reverse=True)
    for name in names[KEEP - 1 :]:
        remove_tree(os.path.join(folder, name))


def inside(root: str, path: str) -> str:
    """A path below a folder.

    Raises:
        Refused: it leads out of it.
    """
    full = os.path.normpath(os.path.join(root, path))
    if os.path.isabs(path) or not full.startswith(root + "/"):
        raise Refused("%s leads out of the release" % path)
    return full


def group_of(uid: int) -> int:
    """A user's own group; the same number where the host knows none."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid


def own(root: str, uid: int) -> None:
    """Hand a folder with all in it to a user; links themselves, never what they point to."""
    gid = group_of(uid)
    os.lchown(root, uid, gid)
    for folder, names, files in os.walk(root):
        for name in names + files:
            os.lchown(os.path.join(folder, name), uid, gid)
