"""The release folder on this machine: its manifest, its key, and its files in pieces small enough for a frame."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.errors import InvalidFile
from stager.models.base import digest

#: What never belongs to a release, whatever the folder holds.
LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store"})
PIECE = 4 * 1024 * 1024  # bytes of a file in one entry; base64 and JSON stay well below a frame's limit
BATCH = 8 * 1024 * 1024  # bytes of files in one exchange


@dataclass(frozen=True)
class Release:
    """A release folder as it is now. ``key`` names it together with what ``prepare`` will do to it."""

    folder: Path
    manifest: tuple[dict[str, str], ...]
    key: str

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the files as lists of entries for the host's ``lay``, each list small enough for one frame."""
        batch: list[dict[str, Any]] = []
        size = 0
        for entry in self.manifest:
            for piece, length in self._pieces(entry):
                if batch and size + length > BATCH:
                    yield batch
                    batch, size = [], 0
                batch.append(piece)
                size += length
        if batch:
            yield batch

    def _pieces(self, entry: dict[str, str]) -> Iterator[tuple[dict[str, Any], int]]:
        path = self.folder / entry["path"]
        if entry["mode"] == "120000":
            yield {"path": entry["path"], "link": str(path.readlink())}, 0
            return
        mode = int(entry["mode"][-3:], 8)
        with path.open("rb") as file:
            block = file.read(PIECE)
            while True:
                following = file.read(PIECE)
                data = base64.b64encode(block).decode()
                yield {"path": entry["path"], "data": data, "mode": mode, "more": bool(following)}, len(block)
                if not following:
                    return
                block = following


def read_release(folder: Path, prepare: Sequence[Sequence[str]]) -> Release:
    """Digest a release folder; modes are written as git writes them, links are digested by where they point.

    Raises:
        InvalidFile: a link leads out of the folder, or something in it is neither file, folder nor link.
    """
    root = folder.resolve()
    manifest = [
        _entry(root, path)
        for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).as_posix())
        if not LEFT_OUT.intersection(path.relative_to(root).parts) and (path.is_symlink() or not path.is_dir())
    ]
    wanted = [entry for entry in manifest if not entry["path"].endswith(".pyc")]
    return Release(root, tuple(wanted), digest({"manifest": wanted, "prepare": [list(argv) for argv in prepare]}))


def _entry(root: Path, path: Path) -> dict[str, str]:
    name = path.relative_to(root).as_posix()
    if path.is_symlink():
        target = path.readlink()
        if target.is_absolute() or root not in (path.parent / target).resolve().parents:
            raise InvalidFile(
                f"{path} is a link that leads out of the release ({target}); it would mean nothing there."
            )
        return {"path": name, "mode": "120000", "sha256": hashlib.sha256(str(target).encode()).hexdigest()}
    if not path.is_file():
        raise InvalidFile(f"{path} is neither a file, a folder nor a link; a release holds nothing else.")
    mode = "100755" if path.stat().st_mode & 0o100 else "100644"
    with path.open("rb") as file:
        return {"path": name, "mode": mode, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
