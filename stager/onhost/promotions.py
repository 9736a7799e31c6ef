"""What stager put into production under a playbook's name, and what was there before: kept for a rollback."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, Optional

from . import clocks
from .files import read_json, write_json


def folder_of(state: str) -> str:
    """Where the records are."""
    return os.path.join(state, "promotions")


def path_of(state: str, name: str) -> str:
    """The record of one playbook's production."""
    return os.path.join(folder_of(state), hashlib.sha256(name.encode()).hexdigest()[:16] + ".json")


def current(state: str, name: str) -> Optional[Dict[str, Any]]:
    """The newest promotion under a name: build_id, tree, items, before, previous; None if there was none."""
    return read_json(path_of(state, name))


def remember(state: str, name: str, record: Dict[str, Any]) -> None:
    """Keep a promotion; writing the same one twice changes nothing."""
    os.makedirs(folder_of(state), 0o711, exist_ok=True)
    write_json(path_of(state, name), dict(record, name=name, at=clocks.wall()))


def trees(state: str) -> List[str]:
    """The releases that production runs from or would go back to; they are never pruned."""
    found: List[str] = []
    for name in os.listdir(folder_of(state)) if os.path.isdir(folder_of(state)) else ():
        record = read_json(os.path.join(folder_of(state), name)) or {}
        found += [record.get("tree", ""), (record.get("previous") or {}).get("tree", "")]
    return [key for key in found if key]
