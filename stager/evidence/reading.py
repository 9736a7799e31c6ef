"""Reading one place of the store: every file is held against its own name before a word of it is believed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from pydantic import ValidationError

from stager.evidence.files import sha256_of
from stager.evidence.places import Place, parse_document_name, taint_name
from stager.models.evidence import Evidence
from stager.models.exhibit import Exhibit, Unreadable

#: Raw samples larger than this, unpacked, are not read (a damaged or hostile file could unpack without end).
RAW_LIMIT = 512 * 1024 * 1024


def read_place(root: Path, place: Place) -> tuple[list[Exhibit], list[Unreadable]]:
    """Read every attempt in one place, oldest first, and say what is damaged or missing there."""
    folder = place.folder(root)
    exhibits: list[Exhibit] = []
    troubles: list[Unreadable] = []
    seen: set[int] = set()
    for path in sorted(folder.iterdir()):
        promised = parse_document_name(path.name)
        if promised is None:
            continue
        attempt, sha256 = promised
        seen.add(attempt)
        found = read_document(path, place, attempt, sha256, root)
        if isinstance(found, Exhibit):
            exhibits.append(found)
        else:
            troubles.append(found)
    for attempt in range(1, max(seen, default=0)):
        if attempt not in seen:
            why = f"attempt {attempt} is not in the store, though a later one is; every attempt has to be kept"
            troubles.append(_trouble(place, folder / f"{attempt:04d}-*.json", why))
    return exhibits, troubles


def read_document(path: Path, place: Place, attempt: int, sha256: str, root: Path) -> Exhibit | Unreadable:
    """Read one document, or say why it cannot be relied on."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return _trouble(place, path, f"it cannot be read ({error.strerror})")
    if sha256_of(content) != sha256:
        return _trouble(place, path, "its bytes are not those it was stored with (the digest in its name is another)")
    try:
        evidence = Evidence.model_validate_json(content)
    except ValidationError as error:
        return _trouble(place, path, f"it does not load as evidence: {error.errors()[0]['msg']}")
    if (evidence.build_id, evidence.probe, evidence.claim, evidence.attempt) != (
        place.build_id,
        place.probe,
        place.claim,
        attempt,
    ):
        return _trouble(place, path, "it lies in the place of another build, probe, claim or attempt")
    return Exhibit(evidence=evidence, sha256=sha256, faults=tuple(faults_of(evidence, path, root)))


def faults_of(evidence: Evidence, path: Path, root: Path) -> list[str]:
    """Return what keeps a readable document from passing: raw samples that are off, a tainted run."""
    faults = []
    if trouble := raw_trouble(evidence, path):
        faults.append(trouble)
    if evidence.tainted:
        faults.append(f"the run is tainted: {evidence.tainted}")
    if why := taint_of(root, evidence.build_id, evidence.run_id):
        faults.append(f"the run is tainted: {why}")
    return faults


def taint_of(root: Path, build_id: str, run_id: str) -> str:
    """Return why no evidence of a run counts, or nothing."""
    note = root / build_id / taint_name(run_id)
    return (note.read_text(errors="replace").strip() or "no reason was written") if note.exists() else ""


def raw_trouble(evidence: Evidence, document: Path) -> str:
    """Return what is wrong with the raw samples' file, or nothing."""
    if "/" in evidence.raw.file or evidence.raw.file in {"", ".", ".."}:
        return f"its raw samples point outside the store ({evidence.raw.file})"
    path = document.parent / evidence.raw.file
    try:
        content = path.read_bytes()
    except OSError as error:
        return f"its raw samples {evidence.raw.file} cannot be read ({error.strerror})"
    if sha256_of(content) != evidence.raw.sha256:
        return f"its raw samples {evidence.raw.file} are not those it was stored with (another digest)"
    return ""


def unpack(content: bytes) -> bytes:
    """Unpack raw samples, with a bound on what comes out.

    Raises:
        ValueError: not a gzip file, or more than ``RAW_LIMIT`` bytes.
    """
    unpacker = zlib.decompressobj(wbits=31)
    try:
        out = unpacker.decompress(content, RAW_LIMIT)
    except zlib.error as error:
        raise ValueError(f"the raw samples cannot be unpacked ({error})") from error
    if unpacker.unconsumed_tail:
        raise ValueError(f"the raw samples unpack to more than {RAW_LIMIT} bytes")
    return out


def pack(content: bytes) -> bytes:
    """Pack raw samples so that equal samples make equal files (no time stamp inside)."""
    return gzip.compress(content, mtime=0)


def _trouble(place: Place, path: Path, why: str) -> Unreadable:
    return Unreadable(build_id=place.build_id, probe=place.probe, claim=place.claim, file=path.name, why=why)
