"""Markers under every order of our steps, crashes and other hands: only what is exactly ours ever goes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from stager.onhost import markers

RUN = "20260101t000000-abcdef"
CONTENT = b"stager"


class MarkerLife(RuleBasedStateMachine):
    """Real files in a folder; the model knows which file at the path is ours and untouched."""

    things = Bundle("things")

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        self.folder = self.top / "flags"
        self.folder.mkdir()
        self.path = str(self.folder / "maintenance")
        self.identity: dict[str, Any] | None = None  # what the journal would hold
        self.published = False
        self.ours = False  # the file at the path is ours, and nobody has been at it
        self.foreign: dict[tuple[int, int], bytes] = {}  # files of others, by inode, with what they hold

    # -- us ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.identity is None)
    @rule()
    def prepare(self) -> None:
        self.identity = markers.prepare(self.path, CONTENT, 0o644, RUN)

    @precondition(lambda self: self.identity is not None and not self.published)
    @rule()
    def publish(self) -> None:
        free = not os.path.lexists(self.path)
        try:
            markers.publish(self.path, RUN)
        except FileExistsError:
            assert not free
            markers.sweep(self.path, RUN)
            self.identity = None
        except FileNotFoundError:
            assert (self.top / "old").exists()  # the folder was renamed with our private file in it
            self.identity = None
        else:
            assert free
            self.published = self.ours = True

    @precondition(lambda self: self.published)
    @rule()
    def clear(self) -> None:
        assert self.identity
        why = markers.clear(self.path, self.identity, RUN)
        assert (why == "") == self.ours, why
        if self.ours:
            assert not os.path.lexists(self.path)
            self.identity, self.published, self.ours = None, False, False

    @precondition(lambda self: self.published and self.ours)
    @rule()
    def crash_between_move_and_removal(self) -> None:
        os.rename(self.path, markers.private_name(self.path, RUN))
        assert self.identity
        assert markers.clear(self.path, self.identity, RUN).startswith("is gone")
        assert not os.path.lexists(markers.private_name(self.path, RUN))
        self.identity, self.published, self.ours = None, False, False

    # -- other hands ------------------------------------------------------------------------------------------

    @rule(data=st.binary(max_size=8))
    def lay_foreign(self, data: bytes) -> None:
        with contextlib.suppress(FileExistsError), open(self.path, "xb") as file:
            file.write(data)
            self.remember(data)

    @rule(data=st.binary(min_size=6, max_size=6), keep_mtime=st.booleans())
    def rewrite(self, data: bytes, keep_mtime: bool) -> None:
        if os.path.isfile(self.path) and not os.path.islink(self.path):
            info = os.stat(self.path)
            changed = Path(self.path).read_bytes() != data
            Path(self.path).write_bytes(data)
            if keep_mtime:
                os.utime(self.path, ns=(info.st_atime_ns, info.st_mtime_ns))
            touched = os.stat(self.path).st_mtime_ns != info.st_mtime_ns
            if changed or touched or info.st_size != len(data):
                self.ours = False
                self.remember(data)

    @rule()
    def replace_by_a_copy(self) -> None:
        if os.path.isfile(self.path) and not os.path.islink(self.path):
            info, data = os.stat(self.path), Path(self.path).read_bytes()
            other = self.folder / "other"
            other.write_bytes(data)
            os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
            self.foreign.pop((info.st_ino, info.st_dev), None)
            other.rename(self.path)
            self.ours = self.alike()
            if not self.ours:
                self.remember(data)

    @rule()
    def make_a_link_of_it(self) -> None:
        if os.path.isfile(self.path) and not os.path.islink(self.path):
            os.rename(self.path, self.folder / "target")
            os.symlink("target", self.path)
            self.ours = False
            self.foreign.clear()

    @rule()
    def make_a_folder_of_it(self) -> None:
        self.remove()
        if not os.path.lexists(self.path):
            os.mkdir(self.path)

    @rule()
    def remove(self) -> None:
        with contextlib.suppress(OSError):
            info = os.lstat(self.path)
            os.rmdir(self.path) if os.path.isdir(self.path) and not os.path.islink(self.path) else os.unlink(self.path)
            self.foreign.pop((info.st_ino, info.st_dev), None)
            self.ours = False

    @rule()
    def rename_the_folder(self) -> None:
        if not (self.top / "old").exists():
            self.folder.rename(self.top / "old")
            self.folder.mkdir()
            self.ours = False
            self.foreign.clear()

    def alike(self) -> bool:
        """Whether the file has all that is on record of ours: a copy of a copy may even get our inode's number again.

        What is the same in mtime, size, inode and bytes counts as the same (docs/proven.md).
        """
        seen, known = os.lstat(self.path), self.identity
        if not self.published or known is None or os.stat(self.folder).st_ino != known["folder_ino"]:
            return False
        same = (seen.st_mtime_ns, seen.st_size, seen.st_ino) == (known["mtime_ns"], known["size"], known["ino"])
        return same and Path(self.path).read_bytes() == CONTENT

    def remember(self, data: bytes) -> None:
        info = os.lstat(self.path)
        self.foreign[(info.st_ino, info.st_dev)] = data

    # -- always -----------------------------------------------------------------------------------------------

    @invariant()
    def what_is_foreign_is_there_unchanged(self) -> None:
        """The file of another stands where it was laid, with what it held."""
        if self.foreign:
            info = os.lstat(self.path)
            assert self.foreign.get((info.st_ino, info.st_dev)) == Path(self.path).read_bytes()

    @invariant()
    def the_difference_agrees_with_the_model(self) -> None:
        """Exactly ours means no difference, and the other way round."""
        if self.published and self.identity:
            assert (markers.difference(self.path, self.identity) == "") == self.ours

    def teardown(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.top)


TestMarkerLife = MarkerLife.TestCase
TestMarkerLife.settings = settings(max_examples=120, stateful_step_count=25, deadline=None)
