"""Where evidence lies: names of folders and files, and what a name promises about the content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from stager.errors import StagerError

_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_DOCUMENT = re.compile(r"(\d{4,})-([0-9a-f]{64})\.json\Z")


@dataclass(frozen=True)
class Place:
    """One claim's folder in the store: ``<build_id>/<probe>/<claim>``."""

    build_id: str
    probe: str
    claim: str

    def folder(self, root: Path) -> Path:
        """Return the folder below the store's root.

        Raises:
            StagerError: a name could leave the folder.
        """
        for name in (self.build_id, self.probe, self.claim):
            if not _SAFE.match(name):
                raise StagerError(
                    f"{name!r} cannot name a folder in the evidence store: small letters, digits, - and _."
                )
        return root / self.build_id / self.probe / self.claim


def document_name(attempt: int, sha256: str) -> str:
    """Return the file name of an evidence document: its attempt and the digest of its bytes."""
    return f"{attempt:04d}-{sha256}.json"


def parse_document_name(name: str) -> tuple[int, str] | None:
    """Return attempt and digest that a file name promises; None for a file that is no evidence document."""
    match = _DOCUMENT.match(name)
    return (int(match[1]), match[2]) if match else None


def raw_name(sha256: str) -> str:
    """Return the file name of raw samples, which lie beside the document: compressed, named by the file's digest."""
    return f"raw-{sha256}.gz"


def taint_name(run_id: str) -> str:
    """Return the file name, in the build's folder, of the note that taints all evidence of a run."""
    return f"tainted-{safe_run(run_id)}.txt"


def safe_run(run_id: str) -> str:
    """Return a run's id, once it is known to be no path.

    Raises:
        StagerError: it could leave the folder.
    """
    if not _RUN.match(run_id):
        raise StagerError(f"{run_id!r} cannot name a run's file (letters, digits, '.', '-', '_').")
    return run_id
