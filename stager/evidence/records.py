"""The records of runs on this controller: ``$STAGER_HOME/runs/<run_id>/record.json``.

Unlike evidence a record grows: `stage` begins it, `verify` and `cleanup` add to it. No gate reads it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from stager.errors import StagerError
from stager.evidence.files import alone_in, make_folder, replace
from stager.evidence.lookup import resolve
from stager.evidence.places import safe_run
from stager.models.base import canonical_json
from stager.models.record import RunRecord


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
            replace(path, canonical_json(record.document()))
        return path

    def load(self, prefix: str) -> RunRecord:
        """Return the run whose id begins so.

        Raises:
            UsageError: none does, or several do.
            StagerError: the record is damaged.
        """
        run_id = resolve(prefix, self.ids(), "run", "stager runs")
        path = self.root / run_id / "record.json"
        try:
            return RunRecord.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = "/".join(str(part) for part in first["loc"])
            raise StagerError(f"The record {path} is damaged: {where}: {first['msg']}.") from error

    def ids(self) -> list[str]:
        """Return the ids of all runs, oldest first (they sort by time)."""
        return sorted(path.parent.name for path in self.root.glob("*/record.json"))

    def all(self) -> list[RunRecord]:
        """Return all records, oldest first."""
        return [self.load(run_id) for run_id in self.ids()]
