"""The records of runs on this controller: ``$STAGER_HOME/runs/<run_id>/record.json``.

Unlike evidence a record grows: `stage` begins it, `verify` and `cleanup` add to it. What audits of its source claim
lies beside it, in ``audit-<sha256>.json``. No gate reads any of this.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from stager.errors import UNTOUCHED, StagerError
from stager.evidence.files import alone_in, make_folder, replace, sha256_of, write_new
from stager.evidence.lookup import resolve
from stager.evidence.places import raw_name, safe_run
from stager.evidence.reading import pack, unpack
from stager.evidence.store import Store
from stager.models.base import canonical_json, digest
from stager.models.claimed import AttachedAudit
from stager.models.evidence import RawSamples
from stager.models.record import RunRecord


class DamagedRecord(StagerError):
    """What was recorded of a run cannot be read; the details are ``run_id``, ``file`` and ``why``."""

    default_host_state = UNTOUCHED


class Records:
    """All runs this controller knows of."""

    def __init__(self, home: Path) -> None:
        self.root = home / "runs"

    def save(self, record: RunRecord) -> Path:
        """Write a record in place of an older one of the same run; a reader sees one of the two, whole."""
        folder = self.root / safe_run(record.run_id)
        make_folder(folder)
        path = folder / "record.json"
        with alone_in(folder):
            own = record.model_copy(update={"claimed_by_source": ()})  # these have files of their own
            replace(path, canonical_json(own.document()))
        return path

    def load(self, prefix: str) -> RunRecord:
        """Return the run whose id begins so.

        Raises:
            UsageError: none does, or several do.
            DamagedRecord: it cannot be read.
        """
        run_id = self.resolve(prefix)
        path = self.root / run_id / "record.json"
        try:
            return RunRecord.model_validate_json(path.read_bytes())
        except (ValidationError, OSError) as error:
            raise _damaged(run_id, path, error) from error

    def resolve(self, prefix: str) -> str:
        """Return the id of the run that begins so, whether its record can be read or not.

        Raises:
            UsageError: none does, or several do.
        """
        return resolve(prefix, self.ids(), "run", "stager runs")

    def keep_raw(self, run_id: str, raw: bytes) -> RawSamples:
        """Keep raw samples that belong to a run but to no build (production's own), beside the record."""
        folder = self.root / safe_run(run_id)
        make_folder(folder)
        packed = pack(raw)
        samples = RawSamples(file=raw_name(sha256_of(packed)), sha256=sha256_of(packed))
        if not (folder / samples.file).exists():
            write_new(folder / samples.file, packed)
        return samples

    def raw(self, run_id: str, samples: RawSamples) -> bytes | None:
        """Return raw samples kept beside a record; None where they are gone or were changed."""
        path = self.root / safe_run(run_id) / raw_name(samples.sha256)
        content = path.read_bytes() if path.is_file() else b""
        return unpack(content) if sha256_of(content) == samples.sha256 else None

    def attach(self, audit: AttachedAudit) -> Path:
        """Keep what an audit claims about a run's source; the same claims from the same paths are kept once."""
        folder = self.root / safe_run(audit.run_id)
        make_folder(folder)
        same = audit.document()
        del same["read_at"]
        path = folder / f"audit-{digest(same)}.json"
        if not path.exists():
            write_new(path, canonical_json(audit.document()))
        return path

    def claimed_by_source(self, run_id: str) -> tuple[AttachedAudit, ...]:
        """Return the audits that were attached to a run, oldest first.

        Raises:
            DamagedRecord: one of them cannot be read.
        """
        found = []
        for path in (self.root / safe_run(run_id)).glob("audit-*.json"):
            try:
                found.append(AttachedAudit.model_validate_json(path.read_bytes()))
            except (ValidationError, OSError) as error:
                raise _damaged(run_id, path, error) from error
        return tuple(sorted(found, key=lambda audit: audit.read_at))

    def ids(self) -> list[str]:
        """Return the ids of all runs, oldest first (they sort by time)."""
        return sorted(path.parent.name for path in self.root.glob("*/record.json"))

    def load_whole(self, prefix: str, store: Store) -> RunRecord:
        """Return a run with what came after it was recorded: its evidence's taint, and what its source claims.

        Raises:
            UsageError: no run begins so, or several do.
            DamagedRecord: it cannot be read.
        """
        record = self.load(prefix)
        why = store.taint_of(record)
        marked = tuple(item.model_copy(update={"tainted": item.tainted or why}) for item in record.evidence)
        claimed = self.claimed_by_source(record.run_id)
        return record.model_copy(update={"evidence": marked, "claimed_by_source": claimed})

    def builds(self) -> list[str]:
        """Return the builds that were staged in some run here, whether they left evidence or not."""
        return [record.build_id for record in self.all()[0] if record.build_id]

    def all(self, store: Store | None = None) -> tuple[list[RunRecord], list[DamagedRecord]]:
        """Return all records, oldest first (whole, where a store is given), and what is said of the damaged ones."""
        found, damaged = [], []
        for run_id in self.ids():
            try:
                found.append(self.load_whole(run_id, store) if store else self.load(run_id))
            except DamagedRecord as error:
                damaged.append(error)
        return found, damaged


def _damaged(run_id: str, path: Path, error: ValidationError | OSError) -> DamagedRecord:
    if isinstance(error, OSError):
        why = error.strerror or str(error)
    else:
        first = error.errors()[0]
        why = ": ".join(filter(None, ("/".join(str(part) for part in first["loc"]), first["msg"])))
    return DamagedRecord(
        f"What is recorded of run {run_id} is damaged: {path}: {why}. Its evidence is kept apart from it; "
        "once that file is moved away, nothing speaks of it any more.",
        next=f"stager evidence list --run {run_id}",
        run_id=run_id,
        file=str(path),
        why=why,
    )
