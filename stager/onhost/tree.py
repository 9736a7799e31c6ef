"""The release as it will run: put in place by content, prepared, made read-only, digested.

A tree lives at ``<state>/trees/<key>``; the key is the digest of its manifest and its ``prepare`` commands, so the same
release is laid once. ``<key>.unfinished`` stands beside it until it is whole.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import os
import pwd
import signal
import stat
import subprocess
from typing import IO, Any, Callable, Dict, List, Optional, Sequence

from . import clocks, processes
from .faults import Refused
from .files import digest_file, remove_tree, sync_folder, unlink_quietly, walk, write_all

KEEP = 3  # whole trees kept for the next run of the same release
NOBODY = 65534


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

    def prepare(
        self,
        commands: Sequence[Sequence[str]],
        log: str,
        home: str,
        user: Optional[int],
        go_on: Callable[[], None],
        timeout: float,
    ) -> None:
        """Run the ``prepare`` commands inside the tree, never as root unless the playbook says so.

        ``go_on`` is asked while each runs; what it raises ends the command with all it started.

        Raises:
            Refused: one failed or took too long, with the end of its output.
        """
        os.makedirs(home, 0o700, exist_ok=True)
        owner = user if os.geteuid() == 0 else None
        if owner is not None:
            own(self.folder, owner)
            own(home, owner)
        with open(log, "ab") as output:
            for argv in commands:
                output.write(("$ %s\n" % " ".join(argv)).encode())
                output.flush()
                try:
                    code = self._run(argv, output, home, owner, go_on, timeout)
                except (OSError, subprocess.TimeoutExpired) as error:
                    raise Refused("prepare: %s: %s" % (" ".join(argv), error)) from None
                if code != 0:
                    raise Refused("prepare: %s ended with status %d:\n%s" % (" ".join(argv), code, tail(log)))

    def _run(
        self,
        argv: Sequence[str],
        output: IO[bytes],
        home: str,
        owner: Optional[int],
        go_on: Callable[[], None],
        timeout: float,
    ) -> int:
        """One prepare command, inside the tree, in a session of its own that ends with it."""
        environment = dict(processes.environment(), HOME=home)
        ids: Dict[str, Any] = {"user": owner, "group": group_of(owner), "extra_groups": []} if owner else {}
        child = subprocess.Popen(
            list(argv),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
            preexec_fn=processes.die_with_parent,
            **ids,
        )
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return child.wait(0.2)
                go_on()
                if clocks.boottime_ns() > end:
                    raise subprocess.TimeoutExpired(list(argv), timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

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

    def distributions(self) -> List[Dict[str, str]]:
        """What ``prepare`` installed, by the installed distributions' own records.

        Name and digest of the recorded digests.
        """
        found = []
        for path in walk(self.folder):
            if path.endswith(".dist-info/RECORD"):
                with open(os.path.join(self.folder, path), newline="") as file:
                    rows = sorted(
                        row[0] + "=" + row[1]
                        for row in csv.reader(file)
                        if len(row) > 1 and row[1] and not row[0].startswith("..")
                    )
                name, _, version = os.path.basename(os.path.dirname(path))[: -len(".dist-info")].partition("-")
                found.append(
                    {
                        "name": name,
                        "version": version,
                        "record_sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(),
                    }
                )
        return found


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


def tail(path: str, size: int = 2000) -> str:
    """The end of a log."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read().decode("utf-8", "replace")
