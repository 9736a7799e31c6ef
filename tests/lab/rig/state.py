"""A state folder on a disk of its own: what a host forgot to sync is lost at a power cut, as on metal."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .place import command

# A commit interval longer than any test, and no help for writers that forget to sync before a rename:
# only what was synced by name is on the disk when the power goes.
OPTIONS = "loop,commit=600,noauto_da_alloc"


class StateDisk:
    """A small ext4 image, loop-mounted out here and bound into the host at /var/lib/stager."""

    def __init__(self, folder: Path, mebibytes: int) -> None:
        self.mounted = folder / "state"
        self._folder = folder
        self._mebibytes = mebibytes
        self._images = 0
        self.image = self._next()

    def make(self) -> None:
        """A new, empty disk, mounted."""
        self.unmount()
        self.image = self._next()
        with self.image.open("wb") as image:
            image.truncate(self._mebibytes << 20)
        command("mkfs.ext4", "-q", "-F", "-m", "0", self.image)
        self.mount()
        (self.mounted / "lost+found").rmdir()

    def mount(self) -> None:
        """Mount the disk; ext4 replays its journal if the power was cut."""
        self.mounted.mkdir(exist_ok=True)
        command("mount", "-o", OPTIONS, self.image, self.mounted)

    def unmount(self) -> None:
        """Unmount the disk if it is mounted, and forget its image.

        Whoever still sees the mount (a host that was just cut off, another mount namespace of this machine) keeps the
        old file system alive for a while. So an image is never mounted twice: a copy goes on in its place.
        """
        while self.mounted.is_mount():
            command("umount", "--lazy", self.mounted)
        self.image.unlink(missing_ok=True)

    def lose_what_was_not_synced(self) -> None:
        """Put the disk back to what was on it, the page cache forgotten; call it when the host's power is cut.

        The copy is taken first, because unmounting writes all that is pending.
        """
        self._go_on_with_a_copy()
        self.mount()

    def break_read_only(self) -> None:
        """What a failing disk does: ext4 stops writing, also under open files, until the disk is mounted anew."""
        command("mount", "-o", "remount,abort", self.mounted)

    def repair(self) -> None:
        """Make a broken disk writable again; the host must be down."""
        self._go_on_with_a_copy()
        command("e2fsck", "-p", "-f", self.image, check=False)  # 1 means: errors corrected
        self.mount()

    def fill(self, leave: int = 0) -> Path:
        """Fill the disk but for `leave` bytes; returns the file that does it, remove it to have space again."""
        filler = self.mounted / ".full"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096, 512):  # the last blocks go only to small writes
                try:
                    while True:
                        file.write(b"\0" * size)
                        os.fsync(file.fileno())  # space that ext4 only expects to need counts as used otherwise
                except OSError:  # no space left: that is what was asked for
                    continue
            file.truncate(file.tell() - leave)
        return filler

    def freeze(self) -> None:
        """Let every writer sleep in the kernel (D state), where not even SIGKILL reaches it, until `thaw`."""
        command("fsfreeze", "--freeze", self.mounted)

    def _go_on_with_a_copy(self) -> None:
        kept = self._next()
        shutil.copyfile(self.image, kept)
        self.unmount()
        self.image = kept

    def _next(self) -> Path:
        self._images += 1
        return self._folder / f"state-{self._images}.img"

    def thaw(self) -> None:
        """End `freeze`; does nothing on a disk that is not frozen."""
        command("fsfreeze", "--unfreeze", self.mounted, check=False)
