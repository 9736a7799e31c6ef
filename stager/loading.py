"""Read a playbook from disk, with the marker kinds it names and the files it points to."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import stager
from stager.errors import InvalidFile
from stager.models.complaint import Complaint, invalid
from stager.models.marker import MarkerKind
from stager.models.playbook import Playbook
from stager.models.source import Source

#: A playbook is a page or two; something larger is another file.
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class LoadedPlaybook:
    """A playbook and what belongs to it; all paths absolute.

    ``source`` still knows every line: later checks (probe parameters, engine names) complain through it.
    """

    path: Path
    text: str
    source: Source
    playbook: Playbook
    markers: Mapping[str, MarkerKind]
    release: Path | None
    policy: Path | None


def load_playbook(path: str | Path, *, check_files: bool = True) -> LoadedPlaybook:
    """Read and check a playbook.

    Args:
        path: the file.
        check_files: also refuse a release folder or policy file that is not there; commands that only
            look at the host need neither.

    Raises:
        InvalidFile: with every complaint about the playbook and the marker files at once.
    """
    file = Path(path)
    if not file.exists():
        missing = Complaint(str(path), 1, 1, "", "a playbook", "no such file")
        raise invalid([missing], next=f"stager init ADDRESS -o {shlex.quote(str(path))}")
    text = read_text(file)
    source = Source.parse(text, str(path))
    playbook, found = source.check(Playbook)
    folder = file.absolute().parent
    # These look at the text's own values, so that they complain even where the playbook as a whole is wrong.
    release = _beside(folder, source.at(("candidate", "release")))
    policy = _beside(folder, source.at(("policy",)))
    if check_files:
        if release and not release.is_dir():
            found.append(source.complaint(("candidate", "release"), "a folder that is there", f"none at {release}"))
        if policy and not policy.is_file():
            found.append(source.complaint(("policy",), "a file that is there", f"none at {policy}"))
    markers, wrong = _markers(source, folder)
    if playbook is None or found or wrong:
        raise invalid([*found, *wrong])
    return LoadedPlaybook(file.absolute(), text, source, playbook, markers, release, policy)


def read_text(file: Path) -> str:
    """Return a file's text.

    Raises:
        InvalidFile: it is not there, not readable, too large, or not UTF-8.
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _unreadable(file, "a file that can be read", reason[:1].lower() + reason[1:]) from None
    if len(raw) > MAX_BYTES:
        raise _unreadable(file, f"at most {MAX_BYTES} bytes", "more")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _unreadable(file, "UTF-8 text", f"the byte 0x{raw[error.start]:02x}", line) from None


def marker_folders(playbook_folder: Path) -> list[Path]:
    """Return where marker kinds are looked up, nearest first: beside the playbook's folder, in its parent, shipped."""
    return [playbook_folder / "markers", playbook_folder.parent / "markers", shipped_markers()]


def shipped_markers() -> Path:
    """Return the folder of the marker kinds that come with stager."""
    package = Path(stager.__file__).resolve().parent
    packed = package / "shipped" / "markers"
    return packed if packed.is_dir() else package.parent / "markers"  # the second: a checkout


def load_marker(name: str, folders: list[Path]) -> MarkerKind:
    """Read one marker kind from the first folder that has it.

    Raises:
        InvalidFile: its file is wrong.
        FileNotFoundError: no folder has it.
    """
    for folder in folders:
        file = folder / f"{name}.yaml"
        if file.is_file():
            return Source.parse(read_text(file), str(file)).part(MarkerKind, ())
    raise FileNotFoundError(name)


def _markers(source: Source, folder: Path) -> tuple[dict[str, MarkerKind], list[Complaint]]:
    kinds: dict[str, MarkerKind] = {}
    found: list[Complaint] = []
    folders = marker_folders(folder)
    names = source.at(("markers", "raise"))
    for index, name in enumerate(names if isinstance(names, list) else []):
        here = ("markers", "raise", index)
        if not isinstance(name, str) or "/" in name or name in kinds:
            continue  # the playbook's own check says so
        try:
            kind = load_marker(name, folders)
        except FileNotFoundError:
            looked = ", ".join(str(place) for place in folders)
            found.append(source.complaint(here, f"a kind declared as {name}.yaml in {looked}", "none"))
        except InvalidFile as error:
            found += [Complaint(**one) for one in error.details["complaints"]]
        else:
            same = next((other for other, known in kinds.items() if known.path == kind.path), None)
            if same:
                found.append(source.complaint(here, "markers at different paths", f"{kind.path}, as {same} has it"))
            kinds[name] = kind
    return kinds, found


def _beside(folder: Path, written: object) -> Path | None:
    if not isinstance(written, str) or not written or "\x00" in written:
        return None
    return Path(os.path.normpath(folder / Path(written).expanduser()))


def _unreadable(file: Path, expected: str, found: str, line: int = 1) -> InvalidFile:
    return invalid([Complaint(str(file), line, 1, "", expected, found)])
