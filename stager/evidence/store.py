"""The evidence store: write-once, content-addressed, verified on every read, every attempt kept.

Layout below ``$STAGER_HOME/evidence``::

    <build_id>/<probe>/<claim>/0001-<sha256>.json    the document, in canonical JSON, named by its own digest
    <build_id>/<probe>/<claim>/raw-<sha256>.gz       the raw samples
    <build_id>/tainted-<run_id>.txt                  why evidence of that run no longer counts
    <build_id>/<run_id>.*.dsse.json                  signed statements
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stager.errors import UsageError
from stager.evidence.files import alone_in, make_folder, sha256_of, write_new
from stager.evidence.places import Place, document_name, parse_document_name, raw_name, taint_name
from stager.evidence.reading import pack, raw_trouble, read_document, read_place, taint_of, unpack
from stager.models.base import canonical_json
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, Finding, HostFacts, RawSamples, Vantage
from stager.models.exhibit import Exhibit, Unreadable
from stager.models.record import RunRecord


@dataclass(frozen=True)
class Provenance:
    """Whose evidence it is: everything that is not the probe's own word."""

    probe: str
    probe_version: int
    suite_digest: str
    build_id: str
    run_id: str
    host: HostFacts
    vantage: Vantage
    launch: str = ""
    context: ContextFacts | None = None


class Store:
    """All evidence this controller has. Opening it reads nothing and makes nothing."""

    def __init__(self, home: Path) -> None:
        self.root = home / "evidence"

    def add(self, finding: Finding, raw: bytes, provenance: Provenance) -> Exhibit:
        """Keep one finding as the next attempt at its claim; on disk when this returns.

        Raises:
            OSError: the disk is full or read-only; nothing is half there.
        """
        place = Place(provenance.build_id, provenance.probe, finding.claim)
        folder = place.folder(self.root)
        packed = pack(raw)
        samples = RawSamples(file=raw_name(sha256_of(packed)), sha256=sha256_of(packed))
        make_folder(folder)
        with alone_in(folder):
            attempt = 1 + max((number for number, _ in _documents(folder)), default=0)
            evidence = Evidence(
                **{name: getattr(finding, name) for name in Finding.model_fields},
                attempt=attempt,
                raw=samples,
                **vars(provenance),
            )
            return self._keep(folder, evidence, packed)

    def adopt(self, document: bytes, packed_raw: bytes, promised: str) -> Exhibit:
        """Keep a document made elsewhere, byte for byte, with its attempt number; keeping it twice changes nothing.

        Args:
            document: the document's bytes.
            packed_raw: its raw samples, as packed there.
            promised: the digest the document was kept under.

        Raises:
            pydantic.ValidationError: it does not load as evidence.
            UsageError: it is another document than promised, not in canonical form, or the raw samples are not its own.
        """
        if sha256_of(document) != promised:
            raise UsageError("The document's bytes are not those its name promises (another digest).")
        evidence = Evidence.model_validate_json(document)
        if canonical_json(evidence.document()) != document:
            raise UsageError("The document is not in the form stager writes it, so its digest would mean nothing.")
        if sha256_of(packed_raw) != evidence.raw.sha256:
            raise UsageError(f"The raw samples are not those of {evidence.probe}/{evidence.claim} (another digest).")
        folder = Place(evidence.build_id, evidence.probe, evidence.claim).folder(self.root)
        make_folder(folder)
        with alone_in(folder):
            return self._keep(folder, evidence, packed_raw)

    def taint(self, build_id: str, run_id: str, why: str) -> None:
        """Say, once and for good, that no evidence of this run counts (the build changed under it, say)."""
        folder = self.root / build_id
        make_folder(folder)
        path = folder / taint_name(run_id)
        if not path.exists():
            write_new(path, why.encode())

    def taint_of(self, run: RunRecord) -> str:
        """Return why no evidence of a run counts, or nothing."""
        return taint_of(self.root, run.build_id, run.run_id) if run.build_id else ""

    def search(
        self, *, build_id: str = "", run_id: str = "", probe: str = ""
    ) -> tuple[list[Exhibit], list[Unreadable]]:
        """Read what is there, oldest first, narrowed to one build, run or probe, and name all that is damaged."""
        exhibits: list[Exhibit] = []
        troubles: list[Unreadable] = []
        for place in self._places(build_id, probe):
            found, bad = read_place(self.root, place)
            exhibits += [item for item in found if not run_id or item.evidence.run_id == run_id]
            troubles += bad
        exhibits.sort(key=lambda item: (item.evidence.ended_at, item.name, item.evidence.attempt))
        return exhibits, troubles

    def raw(self, exhibit: Exhibit) -> bytes:
        """Return the raw samples of a piece of evidence, checked and unpacked.

        Raises:
            ValueError: they are missing, changed or cannot be unpacked.
        """
        path = self.path(exhibit)
        if trouble := raw_trouble(exhibit.evidence, path):
            raise ValueError(trouble)
        return unpack((path.parent / exhibit.evidence.raw.file).read_bytes())

    def path(self, exhibit: Exhibit) -> Path:
        """Return the file a piece of evidence lies in."""
        evidence = exhibit.evidence
        folder = Place(evidence.build_id, evidence.probe, evidence.claim).folder(self.root)
        return folder / document_name(evidence.attempt, exhibit.sha256)

    def builds(self) -> list[str]:
        """Return the names of all builds there is evidence for."""
        return sorted({place.build_id for place in self._places("", "")})

    def _keep(self, folder: Path, evidence: Evidence, packed: bytes) -> Exhibit:
        content = canonical_json(evidence.document())
        sha256 = sha256_of(content)
        raw_path = folder / evidence.raw.file
        # The raw samples first: a document never points at a file that a crash could have prevented.
        if not raw_path.exists():
            write_new(raw_path, packed)
        path = folder / document_name(evidence.attempt, sha256)
        if not path.exists():
            write_new(path, content)
        place = Place(evidence.build_id, evidence.probe, evidence.claim)
        kept = read_document(path, place, evidence.attempt, sha256, self.root)
        if isinstance(kept, Unreadable):  # the disk gave back something else than it was given
            raise OSError(f"evidence {path.name} could not be read back: {kept.why}")
        return kept

    def _places(self, build_id: str, probe: str) -> Iterable[Place]:
        if not self.root.is_dir():
            return
        for folder in sorted(self.root.glob("*/*/*/")):
            place = Place(folder.parts[-3], folder.parts[-2], folder.parts[-1])
            if build_id in {"", place.build_id} and probe in {"", place.probe}:
                yield place


def _documents(folder: Path) -> Iterable[tuple[int, str]]:
    for path in folder.iterdir():
        if promised := parse_document_name(path.name):
            yield promised
