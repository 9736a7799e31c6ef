"""Taking copies of evidence from elsewhere into the store: each held against itself before it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import ValidationError

from stager.errors import StagerError
from stager.evidence.places import parse_document_name
from stager.evidence.store import Store
from stager.models.exhibit import Exhibit


@dataclass(frozen=True)
class Copy:
    """One document and its packed raw samples as they lie elsewhere; ``name`` says where, for the report."""

    name: str
    document: bytes
    packed_raw: bytes
    raw_name: str = ""

    @property
    def promised(self) -> str:
        """The digest in the document's file name; empty where that is no evidence document's name."""
        parsed = parse_document_name(self.name.rpartition("/")[2])
        return parsed[1] if parsed else ""

    @classmethod
    def of(cls, name: str, document: bytes, files: Mapping[str, bytes]) -> Self:
        """Put a document together with the raw samples it names, out of files that were kept side by side."""
        try:
            raw_name = str(json.loads(document)["raw"]["file"])
        except (ValueError, LookupError, TypeError):
            raw_name = ""  # it will be refused with words when it is to be kept
        return cls(name, document, files.get(raw_name, b""), raw_name)


@dataclass(frozen=True)
class Pulled:
    """What became of the copies: taken, there already, or refused with the reason."""

    taken: tuple[Exhibit, ...]
    known: tuple[Exhibit, ...]
    refused: tuple[tuple[str, str], ...]


def pull(store: Store, copies: Iterable[Copy]) -> Pulled:
    """Keep every copy that holds; one that does not is named and harms no other."""
    before = {exhibit.sha256 for exhibit in store.search()[0]}
    taken: list[Exhibit] = []
    known: list[Exhibit] = []
    refused: list[tuple[str, str]] = []
    for copy in copies:
        try:
            exhibit = store.adopt(copy.document, copy.packed_raw, copy.promised)
        except ValidationError as error:
            refused.append((copy.name, f"it does not load as evidence: {error.errors()[0]['msg']}"))
        except StagerError as error:
            refused.append((copy.name, error.message))
        else:
            (known if exhibit.sha256 in before else taken).append(exhibit)
    return Pulled(tuple(taken), tuple(known), tuple(refused))


def copies_of(store: Store, run_id: str) -> list[Copy]:
    """Return a run's evidence as copies to be kept elsewhere (on the host it was taken from)."""
    found = []
    for exhibit in store.search(run_id=run_id)[0]:
        path = store.path(exhibit)
        raw = path.parent / exhibit.evidence.raw.file
        if raw.is_file():
            found.append(Copy(path.name, path.read_bytes(), raw.read_bytes(), raw.name))
    return found
