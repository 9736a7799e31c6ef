"""The append-only record of what stager is about to do, did, and how to undo it.

One JSON record a line: ``{seq, wall, boot_id, boottime_ns, fence, kind, step, undo, ...}`` with kind
``intent``, ``done``, ``note`` or ``verdict``; ``prev`` is the digest of the line before, so that a changed or
missing line shows. A record counts once its line is whole and synced; a torn line (the crash hit the write) is skipped.
Writers hold the run's change lock.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from typing import Any, Dict, List, Optional, Tuple

from . import clocks, space
from .files import open_regular, sync_folder, write_all

FORMAT = "stager.journal/1"
Record = Dict[str, Any]

#: File system types on which neither flock nor sync can be trusted between machines.
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "fuse.glusterfs")


#: What every record has, and of which type: a line that is none of ours must not end a restore.
SHAPE = {"seq": int, "fence": int, "boot_id": str, "boottime_ns": int, "kind": str, "step": str}


def parsed(line: bytes) -> Optional[Record]:
    """The record that a line holds; None for half a line, and for what is no record."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    ours = isinstance(record, dict) and all(isinstance(record.get(name), kind) for name, kind in SHAPE.items())
    return record if ours else None


class Journal:
    """One run's journal.

    ``fearless`` is for restores: a record that cannot be appended goes to ``late``, a file on another file system that
    the run's other processes read and a reboot may sweep away; the restore goes on.
    """

    def __init__(self, path: str, fearless: bool = False, late: str = "") -> None:
        self.path = path
        self.late = late
        self.ballast = os.path.join(os.path.dirname(path), "ballast")
        self.fearless = fearless
        self.records: List[Record] = []
        self.unwritten: List[Record] = []
        self.torn = 0
        self._offset = 0
        self._late_offset = 0
        self._prev = ""
        self._whole = True

    @classmethod
    def create(cls, path: str, **fields: Any) -> "Journal":
        """Make the journal, reserve its space, write record 0.

        Raises:
            OSError: no space, or a folder that cannot be written: then nothing may be changed.
            FileExistsError: there is one already.
        """
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        journal = cls(path)
        try:
            how = space.reserve(fd, journal.ballast)
        finally:
            os.close(fd)
        sync_folder(os.path.dirname(path))
        journal.append("note", "open", format=FORMAT, reserved=how, **fields)
        return journal

    def refresh(self) -> "Journal":
        """Read what was appended since, by whichever process."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return self
        end = data.rfind(b"\n") + 1
        self._whole = end == len(data)
        for line in data[:end].splitlines():
            record = parsed(line)
            if record is None:
                self.torn += 1
                continue
            self.records.append(record)
            self._prev = hashlib.sha256(line).hexdigest()[:32]
        self._offset += end
        self._refresh_late()
        return self

    def _refresh_late(self) -> None:
        """Read what a restore could not append; half a line (a kill hit the write) is no record."""
        data = read_late(self.late, self._late_offset)
        end = data.rfind(b"\n") + 1
        self._late_offset += end
        found = []
        for line in data[:end].splitlines():
            record = parsed(line)
            if record is not None:
                found.append(record)
        known = {record["seq"] for record in found}
        self.unwritten = [record for record in self.unwritten if record["seq"] not in known]
        self.records += found
        if found:
            self.records.sort(key=lambda record: int(record["seq"]))

    def append(
        self, kind: str, step: str, undo: Optional[Dict[str, Any]] = None, fence: int = 0, **fields: Any
    ) -> Record:
        """Append one record and sync it.

        Raises:
            OSError: it could not be written, and this journal is not fearless.
        """
        self.refresh()
        record: Record = {
            "seq": len(self.records) + len(self.unwritten),
            "wall": clocks.wall(),
            "boot_id": clocks.boot_id(),
            "boottime_ns": clocks.boottime_ns(),
            "fence": fence,
            "kind": kind,
            "step": step,
            "undo": undo,
            "prev": self._prev,
        }
        record.update(fields)
        try:
            self._write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        except OSError:
            if not self.fearless:
                raise
            self.unwritten.append(record)
            self._write_late(record)
        self.refresh()
        return record

    def _write_late(self, record: Record) -> None:
        """Append a record to the late file; where that fails, too, this process alone knows of it."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self.late), 0o700, exist_ok=True)  # a reboot sweeps root's away
            fd = open_regular(self.late, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                info = os.fstat(fd)
                if info.st_uid == os.geteuid():
                    torn = info.st_size and os.pread(fd, 1, info.st_size - 1) != b"\n"
                    write_all(fd, b"\n" + line if torn else line)
            finally:
                os.close(fd)

    def give_back(self) -> None:
        """Free what was reserved beyond the journal's end; the caller holds the change lock."""
        with contextlib.suppress(OSError):
            os.truncate(self.path, os.stat(self.path).st_size)

    def _write(self, line: bytes) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            start = os.fstat(fd).st_size
            while True:
                try:
                    write_all(fd, line if self._whole else b"\n" + line)
                    os.fsync(fd)
                    return
                except OSError as error:
                    os.ftruncate(fd, start)
                    if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not space.give_way(self.ballast, len(line)):
                        raise
        finally:
            os.close(fd)

    @property
    def all(self) -> List[Record]:
        """Every record known to this process, written or not."""
        return self.records + self.unwritten

    def last(self, kind: str, step: str = "") -> Optional[Record]:
        """The newest record of a kind (and step)."""
        for record in reversed(self.all):
            if record["kind"] == kind and step in ("", record["step"]):
                return record
        return None

    def chain_is_whole(self) -> Tuple[bool, int]:
        """Whether every line's ``prev`` is the line before it; and the first ``seq`` where it is not."""
        prev = ""
        with open(self.path, "rb") as file:
            for line in file.read().splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if record.get("prev") != prev:
                    return False, int(record.get("seq", -1))
                prev = hashlib.sha256(line).hexdigest()[:32]
        return True, -1


def read_late(path: str, offset: int = 0) -> bytes:
    """A late file from an offset on; only a regular file of our own user counts, for others may write in its folder."""
    try:
        with open(open_regular(path), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return b""
            file.seek(offset)
            return file.read()
    except OSError:
        return b""


def file_system_type(path: str) -> str:
    """The type of the file system a path is on, by the longest mount point above it."""
    real, best, kind = os.path.realpath(path), "", ""
    with open("/proc/self/mounts") as file:
        for line in file:
            _, point, fstype = line.split(" ")[:3]
            point = point.encode().decode("unicode_escape")
            below = real == point or real.startswith(point.rstrip("/") + "/")
            if below and len(point) >= len(best):
                best, kind = point, fstype
    return kind
