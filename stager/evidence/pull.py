"""Taking copies of evidence from elsewhere into the store: each held against itself before it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from stager.errors import StagerError
from stager.evidence.store import Store
from stager.models.exhibit import Exhibit


@dataclass(frozen=True)
class Copy:
    """One document and its packed raw samples as they lie elsewhere; ``name`` says where, for the report."""

    name: str
    document: bytes
    packed_raw: bytes


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
            exhibit = store.adopt(copy.document, copy.packed_raw)
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
            found.append(Copy(path.name, path.read_bytes(), raw.read_bytes()))
    return found
