"""A folder on a host as a place an audit reads from: one ``find`` to list it, one ``tar`` for each batch of files."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, cast

from stager.audit.sources import MAX_BYTES, SKIPPED_FOLDERS, Entry
from stager.errors import InvalidFile
from stager.host.base import Host, Pipe

#: Names go in before anything is read out, so a batch has to fit into what a pipe holds (64 KiB on Linux).
_NAMES = 32 * 1024
_PATIENCE = 10.0


@dataclass(slots=True)
class RemoteSources:
    """A folder or file on a host, read over the host's own programs. Nothing is written there, and no shell is used."""

    host: Host
    path: str
    _is_file: bool = False

    @property
    def label(self) -> str:
        """The place as it was typed."""
        return f"{self.host.address}:{self.path}"

    def entries(self) -> Iterator[Entry]:
        """List every file below the path, sorted.

        Raises:
            InvalidFile: the host cannot list it, in its own words.
            Unreachable: the connection broke.
        """
        skipped = [word for name in sorted(SKIPPED_FOLDERS) for word in ("-o", "-name", name)][1:]
        below = ["-type", "d", "!", "-samefile", self.path, "(", *skipped, ")"]
        command = ["find", "-H", self.path, *below, "-prune", "-printf", r"0 p %P\0"]
        told, complaint = self._all([*command, "-o", "!", "-type", "d", "-printf", r"%s %y %P\0"])
        lines = [line for line in told.decode("utf-8", "surrogateescape").split("\0") if line]
        self._is_file = len(lines) == 1 and lines[0].endswith(" ")  # find calls the file itself by no name
        name = self.path.rpartition("/")[2]
        yield from sorted((_entry(line + name * self._is_file) for line in lines), key=lambda entry: entry.path)
        if complaint:
            yield Entry(".", 0, complaint)

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield each file's bytes; a file the host did not send comes back as the error that says so."""
        batch: list[str] = []
        size = 0
        for path in paths:
            if size + len(path) * 2 > _NAMES:
                yield from self._batch(batch)
                batch, size = [], 0
            batch.append(path)
            size += len(path) * 2
        if batch:
            yield from self._batch(batch)

    def _batch(self, paths: list[str]) -> Iterator[tuple[str, bytes | OSError]]:
        folder = (self.path.rpartition("/")[0] or "/") if self._is_file else self.path
        pipe = self.host.open(
            ["tar", "-C", folder, "--no-recursion", "--ignore-failed-read", "--null", "-c", "-f", "-", "-T", "-"]
        )
        try:
            listed = b"".join(b"./" + name.encode("utf-8", "surrogateescape") + b"\0" for name in paths)
            pipe.write(listed)
            pipe.end_input()
            sent = dict(_members(pipe))
        finally:
            pipe.close()
        for path in paths:
            yield path, sent.get(f"./{path}", FileNotFoundError(2, "the host did not send it"))

    def _all(self, command: list[str]) -> tuple[bytes, str]:
        """Return everything a command says, and what it complained of while it went on."""
        pipe = self.host.open(command)
        try:
            data = b"".join(iter(lambda: pipe.read(1 << 18), b""))
            if pipe.exit_status(_PATIENCE) == 0:
                return data, ""
            complaint = pipe.stderr_tail().strip() or "the host could not list it"
            if not data:
                raise InvalidFile(f"{self.label}: {complaint}.")
            return data, complaint
        finally:
            pipe.close()


def _entry(line: str) -> Entry:
    size, kind, path = line.split(" ", 2)
    why = {"f": "", "p": "not the engine's own source", "l": "symbolic link, not followed"}
    skipped = why.get(kind, "not a regular file")
    return Entry(path + ("/" if kind == "p" else ""), 0 if skipped else int(size), skipped)


def _members(pipe: Pipe) -> Iterator[tuple[str, bytes]]:
    """Yield the regular files of a tar stream; what is larger than a source may be is passed over."""
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Whole(pipe)), mode="r|", errorlevel=0) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isreg() and member.size <= MAX_BYTES else None
                if stream is not None:
                    yield member.name, stream.read()
    except tarfile.ReadError:
        return  # nothing, or not all of it, came: the names that did not are reported one by one


@dataclass(slots=True)
class _Whole:
    """A pipe that gives exactly as many bytes as are asked for, until its end."""

    pipe: Pipe

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = self.pipe.read(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
