"""Copies of what the host keeps of a run, beside its record on this controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def keep_files(home: Path, run_id: str, files: Mapping[str, str]) -> None:
    """Write copies of a run's files beside its record."""
    folder = home / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def kept_output(home: Path, run_id: str) -> str | None:
    """Return what the candidate of a run that is over had printed; None where its end is not known here."""
    path = home / "runs" / run_id / "output.log"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def placed_manifest(journal: str) -> str:
    """The digest of the release as it was when the candidate started, from the host's journal."""
    for line in journal.splitlines():
        record = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if record.get("step") == "build":
            return str(record.get("manifest_sha256", ""))
    return ""
