"""Files that are written once: complete or absent after a crash, never changed afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet; it appears whole, read-only and on disk, or not at all.

    Raises:
        FileExistsError: the name is taken, whatever it holds.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), 0o444)
            os.fsync(file.fileno())
        os.link(temporary, path)  # unlike a rename, a link never replaces what is there
    finally:
        Path(temporary).unlink()
    sync_folder(path.parent)


def replace(path: Path, content: bytes) -> None:
    """Write a file anew; a reader sees the old or the new content, whole."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, for the owner only, durably."""
    missing = [folder, *folder.parents]
    for step in reversed(missing):
        if not step.exists():
            with contextlib.suppress(FileExistsError):  # another process was faster
                step.mkdir(mode=0o700)
            sync_folder(step.parent)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for one writer at a time; the kernel frees it if the process dies."""
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
