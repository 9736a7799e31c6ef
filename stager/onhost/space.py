"""Space for a whole run, reserved before the first change, so that a disk that fills up later cannot stop a restore."""

from __future__ import annotations

import ctypes
import errno
import os

KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE: blocks are the file's own, its length stays
JOURNAL_BYTES = 1 << 20  # some 2,000 records; a run of 6 units and 2 markers writes about 60


def reserve(fd: int, ballast: str, size: int = JOURNAL_BYTES) -> str:
    """Give a file blocks beyond its end; where the file system cannot, lay a ballast file beside it.

    Returns:
        ``"blocks"`` or ``"ballast"``.

    Raises:
        OSError: there is no such space (ENOSPC, EDQUOT), or the folder cannot be written.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        libc.fallocate(fd, KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size)) == 0
        and os.fstat(fd).st_blocks * 512 >= size
    ):
        return "blocks"
    number = ctypes.get_errno()
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        raise OSError(number, os.strerror(number))
    with open(ballast, "wb") as file:  # written, not fallocated: this file system has no fallocate
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    return "ballast"


def give_way(ballast: str, size: int) -> bool:
    """Shrink the ballast by so many bytes (whole blocks); False when there is none left."""
    try:
        fd = os.open(ballast, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        left = os.fstat(fd).st_size
        if not left:
            return False
        os.ftruncate(fd, max(0, left - (size // 4096 + 2) * 4096))
        os.fsync(fd)  # some file systems hand the blocks back only with the transaction
        return True
    finally:
        os.close(fd)
