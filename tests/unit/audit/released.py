"""Released source packages, fetched by name through pip into a folder, and never installed or imported."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

#: pip asks a source package for its metadata, which builds its backend's environment: minutes, not seconds.
_PATIENCE = 600


def fetch(name: str, folder: Path, wanted: tuple[str, ...]) -> Path:
    """Download a package and unpack its Python files below some folders; skips, visibly, where pip cannot reach any.

    Args:
        name: the package.
        folder: where to put it.
        wanted: folders inside the package, as they stand there.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    found = [path for path in folder.glob("*") if path.suffix in {".whl", ".gz"}]
    if done.returncode != 0 or not found:
        last = (done.stderr.strip().splitlines() or ["no word why"])[-1]
        pytest.skip(f"{name} could not be fetched with pip: {last}")
    for path, content in _members(found[0]):
        inside = next((part for part in wanted if f"/{part}/" in f"/{path}"), None)
        if inside is not None and path.endswith(".py"):
            target = folder / "source" / path[path.index(inside) :]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return folder / "source"


def _members(archive: Path) -> list[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return [(name, wheel.read(name)) for name in wheel.namelist() if name.endswith(".py")]
    with tarfile.open(archive) as sdist:
        files = [member for member in sdist.getmembers() if member.isfile() and member.name.endswith(".py")]
        return [(str(PurePosixPath(member.name)), _content(sdist, member)) for member in files]


def _content(sdist: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = sdist.extractfile(member)
    assert stream is not None
    return stream.read()
