"""Telling a person: the playbook's ``guard.notify`` command, with ``{message}`` put in as one argument."""

from __future__ import annotations

from typing import Any, Dict

from . import processes


def tell(spec: Dict[str, Any], message: str) -> str:
    """Run the command; returns why it failed (a restore never waits longer than 20 s for it, and never fails by it)."""
    argv = [word.replace("{message}", message) for word in spec["guard"].get("notify") or []]
    if not argv:
        return ""
    ran = processes.run(argv, timeout=20)
    return "" if ran.ok else ran.words()
