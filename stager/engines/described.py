"""An engine described in the playbook: a server of one's own, with its few numbers named.

``active`` and ``busy`` are taken as gauges; ``limit`` is a claim. That ``active`` really counts is for the
probes to find out, so its source says that nobody has read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stager.engines.base import Engine, StepCounter
from stager.engines.reading import Kind, Reading

_KEYS = frozenset({"kind", "health", "active", "busy", "limit", "steps", "tokens"})
_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_UNREAD = "described in the playbook; nobody has read what sets it"


def described(base: Engine, table: Mapping[str, Any]) -> Engine:
    """Return ``base`` (the engine of the table's ``kind``) with the numbers the playbook names.

    A place is ``/path#/json/pointer`` or a metric's name, which is looked for at ``/metrics``.

    Raises:
        ValueError: an unknown key, or a place that is not one.
    """
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ValueError(f"unknown keys in engine: {', '.join(unknown)}; there are: {', '.join(sorted(_KEYS))}")
    if bool(table.get("steps")) != bool(table.get("tokens")):
        raise ValueError("engine.steps and engine.tokens go together: their ratio is tokens per step")
    engine = base
    if health := table.get("health"):
        engine = replace(engine, health=str(health), warm=str(health))
    if active := table.get("active"):
        engine = replace(engine, active=(place("active", active, Kind.MEASURED),))
    if busy := table.get("busy"):
        engine = replace(engine, busy=(place("busy", busy, Kind.MEASURED),))
    if limit := table.get("limit"):
        engine = replace(engine, configured=(*engine.configured, place("limit", limit, Kind.CONFIGURED)))
    if table.get("steps"):
        counter = StepCounter(
            tokens=place("tokens", table["tokens"], Kind.MEASURED),
            steps=place("steps", table["steps"], Kind.MEASURED),
            includes_prompt=False,
            source=_UNREAD,
        )
        engine = replace(engine, steps=counter)
    return engine


def place(name: str, text: object, kind: Kind) -> Reading:
    """Read ``/path#/json/pointer``, ``/path#metric_name``, or a bare metric's name (at ``/metrics``).

    Raises:
        ValueError: it is none of these.
    """
    path, hash_mark, inside = str(text).partition("#")
    if _METRIC.fullmatch(path) and not hash_mark:
        return Reading(name=name, path="/metrics", metric=path, kind=kind, source=_UNREAD)
    if path.startswith("/") and _METRIC.fullmatch(inside):
        return Reading(name=name, path=path, metric=inside, kind=kind, source=_UNREAD)
    if path.startswith("/") and hash_mark and (not inside or inside.startswith("/")):
        return Reading(name=name, path=path, pointer=inside, kind=kind, source=_UNREAD)
    raise ValueError(f"engine.{name}: {text!r} is neither a place like /health#/active nor the name of a metric")
