"""Names and networks for hosts: no two sessions on this machine ever use the same one."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from . import nspawn
from .place import LAB, command

SLOTS = Path("/run/stager-lab")  # one for the machine: networks are, whatever STAGER_LAB_DIR says


@dataclass(frozen=True)
class Slot:
    """One host's name, folder and /30 network."""

    number: int
    name: str
    folder: Path

    @property
    def inside(self) -> str:
        """The host's own address."""
        return f"10.231.{self.number}.2"

    @property
    def outside(self) -> str:
        """The address of this end of the link."""
        return f"10.231.{self.number}.1"

    @property
    def link(self) -> str:
        """The name nspawn gives to this end of the link (names are kept short enough not to be cut)."""
        return f"ve-{self.name}"


class Slots:
    """Hands out slots; each is a locked file that the kernel frees if this session dies."""

    def __init__(self) -> None:
        self._locks: dict[int, IO[str]] = {}

    def __enter__(self) -> Self:
        SLOTS.mkdir(parents=True, exist_ok=True)
        for number in _numbers():
            if lock := _lock(number):  # nobody lives there: sweep what a dead session left
                with lock:
                    _sweep(lock)
        return self

    def __exit__(self, *_: object) -> None:
        for lock in self._locks.values():
            lock.close()

    def take(self) -> Slot:
        """A free slot, this session's until it ends.

        Raises:
            RuntimeError: all of 10.231.1.0 to 10.231.254.0 are taken.
        """
        links = command("ip", "-o", "-4", "addr").stdout
        for number in range(1, 255):
            if f" 10.231.{number}.1/" in links:
                continue
            if lock := _lock(number):
                self._locks[number] = lock
                name = f"s{os.getpid()}-{number}"
                slot = Slot(number, name, LAB / "hosts" / name)
                _sweep(lock)
                lock.write(f"{name} {slot.folder}")
                lock.flush()
                return slot
        raise RuntimeError("no free 10.231.N.0/30 network is left for another host")

    def give_back(self, slot: Slot) -> None:
        """End a slot's host, remove all it had, and let others have the slot."""
        lock = self._locks.pop(slot.number)
        with lock:
            _sweep(lock)


def _numbers() -> Iterator[int]:
    return (int(path.stem) for path in sorted(SLOTS.glob("*.slot")))


def _lock(number: int) -> IO[str] | None:
    file = (SLOTS / f"{number}.slot").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _sweep(lock: IO[str]) -> None:
    lock.seek(0)
    name, _, folder = lock.read().partition(" ")
    if name:
        remove(name, Path(folder))
    lock.seek(0)
    lock.truncate()


def remove(name: str, folder: Path) -> None:
    """End a host and remove all that it had on this machine."""
    everywhere = (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
    mounts = sorted((mount for mount in everywhere if Path(mount).is_relative_to(folder)), reverse=True)
    for mount in mounts:
        command("fsfreeze", "--unfreeze", mount, check=False)  # a writer on a frozen disk could not be killed
    nspawn.kill_all(name)
    for mount in mounts:
        command("umount", mount)
    shutil.rmtree(folder, ignore_errors=True)
