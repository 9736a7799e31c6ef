"""What stager put into production on this host, and what was there before: kept for a rollback.

A record is named by the paths that were switched, so that two playbooks for the same production know of each other. A
file's content lies beside the records by its digest, readable by its owner only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Sequence

from . import clocks
from .files import read_json, sync_folder, unlink_quietly, write_atomically, write_json
from .state import Run

Record = Dict[str, Any]


def folder_of(state: str) -> str:
    """Where the records are."""
    return os.path.join(state, "promotions")


def name_of(paths: Sequence[str]) -> str:
    """The name of a production: what is switched."""
    return hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()[:16]


def current(state: str, paths: Sequence[str]) -> Optional[Record]:
    """The newest promotion over these paths.

    ``build_id``, ``tree``, ``items``, ``before``, ``previous``, ``run_id``, ``at``; None if there was none.
    """
    return read_json(os.path.join(folder_of(state), name_of(paths) + ".json"))


def prepare(run: Run, record: Record) -> None:
    """Write a promotion's record before it is confirmed, so that keeping it later needs no new space.

    Raises:
        OSError: there is no space.
    """
    os.makedirs(folder_of(run.state), 0o711, exist_ok=True)
    write_json(run.at("promotion.json"), dict(record, run_id=run.run_id, at=clocks.wall()))


def remember(run: Run, paths: Sequence[str]) -> bool:
    """Keep the record that was prepared; doing so twice changes nothing. False where there is none."""
    path = os.path.join(folder_of(run.state), name_of(paths) + ".json")
    try:
        os.rename(run.at("promotion.json"), path)
        sync_folder(os.path.dirname(path))
    except FileNotFoundError:
        return (read_json(path) or {}).get("run_id") == run.run_id
    return True


def records(state: str) -> Iterator[Record]:
    """Every record."""
    folder = folder_of(state)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".json"):
            yield read_json(os.path.join(folder, name)) or {}


def trees(state: str) -> List[str]:
    """The releases that production runs from or would go back to; they are never pruned."""
    found = [
        key for record in records(state) for key in (record.get("tree"), (record.get("previous") or {}).get("tree"))
    ]
    return [key for key in found if key]


def content_path(state: str, digest: str) -> str:
    """Where a content lies."""
    return os.path.join(folder_of(state), "contents", digest)


def keep_content(state: str, digest: str, data: bytes) -> None:
    """Keep a content by its digest.

    Raises:
        OSError: there is no space.
    """
    path = content_path(state, digest)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if not os.path.exists(path):
        write_atomically(path, data, 0o600)


def content(state: str, digest: str) -> bytes:
    """A kept content.

    Raises:
        OSError: it is gone, or is not what its name says.
    """
    with open(content_path(state, digest), "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != digest:
        raise OSError("the kept content %s has been changed" % digest[:12])
    return data


def sweep(state: str) -> None:
    """Remove the contents that no record names any more."""
    named = json.dumps(list(records(state)))
    folder = os.path.dirname(content_path(state, "x"))
    for digest in os.listdir(folder) if os.path.isdir(folder) else ():
        if digest not in named:
            with contextlib.suppress(OSError):
                unlink_quietly(os.path.join(folder, digest))
