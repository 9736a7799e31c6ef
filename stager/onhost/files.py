"""Writing files so that a crash leaves the old one or the new one, and so that a full disk cannot stop a rewrite."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import stat
from typing import Any, Dict, Iterator, Optional

from . import clocks

RECORD = 512  # bytes of a fixed record: one sector, rewritten in place


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_atomically(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file under a private name that nobody can guess, sync it, rename it into place."""
    folder = os.path.dirname(path)
    private = os.path.join(folder, ".%s.%s" % (os.path.basename(path), os.urandom(8).hex()))
    fd = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)
        write_all(fd, data)
        os.fsync(fd)
        os.rename(private, path)
    except BaseException:
        os.unlink(private)
        raise
    finally:
        os.close(fd)
    sync_folder(folder)


def sweep_private(path: str) -> None:
    """Remove what a kill in the middle of ``write_atomically`` left beside a file."""
    folder, name = os.path.split(path)
    for left in glob.glob(os.path.join(glob.escape(folder), ".%s.*" % glob.escape(name))):
        with contextlib.suppress(OSError):
            os.unlink(left)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however short the single writes come out."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """Read a JSON object; None where there is no such file or it is torn."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file that anybody may have laid: never through a link, never waiting for the other end of a pipe.

    Raises:
        OSError: there is none, or it is not a regular file.
    """
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "%s is not a regular file" % path)
    return fd


def write_json(path: str, value: Dict[str, Any], mode: int = 0o600) -> None:
    """Write a JSON object atomically."""
    write_atomically(path, json.dumps(value, indent=1).encode(), mode)


def write_record(path: str, value: Dict[str, Any], sync: bool = False) -> None:
    """Rewrite a small JSON object in place; once made, it needs no new space.

    Raises:
        ValueError: the object does not fit into one record.
    """
    body = json.dumps(value, separators=(",", ":")).encode()
    line = b"%08x " % checksum(body) + body
    if len(line) >= RECORD:
        raise ValueError("a record of %d bytes does not fit into %d" % (len(line), RECORD))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.pwrite(fd, line.ljust(RECORD - 1) + b"\n", 0)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def read_record(path: str) -> Optional[Dict[str, Any]]:
    """Read a record; None where it is missing or torn (the caller decides what that means)."""
    for _ in range(3):  # a reader may meet a writer in the middle
        try:
            with open(path, "rb") as file:
                line = file.read(RECORD)
        except FileNotFoundError:
            return None
        head, _, body = line.rstrip().partition(b" ")
        if head == b"%08x" % checksum(body):
            value = json.loads(body)
            return value if isinstance(value, dict) else None
        clocks.pause(0.02)
    return None


def checksum(body: bytes) -> int:
    """Four bytes of SHA-256: enough to tell a torn record from a whole one."""
    return int.from_bytes(hashlib.sha256(body).digest()[:4], "big")


def digest_file(path: str) -> str:
    """SHA-256, in hex, of a file's bytes."""
    state = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            state.update(block)
    return state.hexdigest()


def walk(root: str) -> Iterator[str]:
    """Every file and link below a folder, relative to it, in sorted order; links are never followed."""
    for folder, names, files in os.walk(root):
        names.sort()
        links = [n for n in names if os.path.islink(os.path.join(folder, n))]
        for name in sorted(files + links):
            yield os.path.relpath(os.path.join(folder, name), root)


def remove_tree(root: str) -> None:
    """Remove a folder of ours with all that is in it, read-only parts too; links are removed, never followed."""
    if os.path.islink(root) or not os.path.isdir(root):
        unlink_quietly(root)
        return
    for folder, names, files in os.walk(root):
        os.chmod(folder, 0o700)
        for name in files + [n for n in names if os.path.islink(os.path.join(folder, n))]:
            os.unlink(os.path.join(folder, name))
    for folder, names, _ in os.walk(root, topdown=False):
        for name in names:
            unlink_quietly(os.path.join(folder, name))
    unlink_quietly(root)


def unlink_quietly(path: str) -> None:
    """Remove a file, link or empty folder; one that is not there is fine."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise
