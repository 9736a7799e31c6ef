"""Where an audit reads from: a local folder or file here; a remote reader keeps the same small interface.

Reading is all that happens: nothing is imported, run, or written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: Folders that hold no source of the engine itself.
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".tox"}
)
#: A source file larger than this is generated or data; it is named in the summary instead of read.
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or skipped folder: its path relative to the root, its size in bytes, and why it is not read."""

    path: str
    size: int
    skipped: str = ""


class Sources(Protocol):
    """What an audit needs of the place it reads from.

    ``read_many`` takes many paths at once so that a remote reader can answer in few round trips; a file that cannot
    be read comes back as the OSError that says why.
    """

    @property
    def label(self) -> str:
        """The name shown for this place, without a trailing slash."""
        ...

    def entries(self) -> Iterable[Entry]:
        """List every file below, sorted by path."""
        ...

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield the content of each path, in the order asked."""
        ...


@dataclass(frozen=True, slots=True)
class LocalSources:
    """A folder, or a single file, on this machine. Symbolic links are named and not followed."""

    root: Path

    @property
    def label(self) -> str:
        """The path as it was given."""
        return str(self.root)

    def entries(self) -> Iterator[Entry]:
        """List every file below the root, sorted by path."""
        if self.root.is_file():
            yield Entry(self.root.name, self.root.stat().st_size)
            return
        unlisted: list[Entry] = []

        def note(error: OSError) -> None:
            unlisted.append(Entry(os.path.relpath(error.filename or self.root, self.root), 0, str(error.strerror)))

        for folder, folders, files in os.walk(self.root, onerror=note):
            base = Path(folder)
            for name in sorted(n for n in folders if n in SKIPPED_FOLDERS):
                yield Entry((base / name).relative_to(self.root).as_posix() + "/", 0, "not the engine's own source")
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(files):
                yield self._entry(base / name)
        yield from unlisted

    def _entry(self, path: Path) -> Entry:
        name = path.relative_to(self.root).as_posix()
        try:
            info = path.lstat()
        except OSError as error:
            return Entry(name, 0, str(error.strerror))
        if stat.S_ISLNK(info.st_mode):
            return Entry(name, 0, "symbolic link, not followed")
        if not stat.S_ISREG(info.st_mode):
            return Entry(name, 0, "not a regular file")
        return Entry(name, info.st_size)

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield each file's bytes, or the error that kept them from us."""
        for name in paths:
            path = self.root if self.root.is_file() else self.root / name
            try:
                yield name, path.read_bytes()
            except OSError as error:
                yield name, error
