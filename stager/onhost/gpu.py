"""Device memory, as nvidia-smi tells it. Where there is none, nothing is known and nothing is waited for."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

from . import processes

CARDS = ("index", "uuid", "name", "driver_version", "memory.used", "memory.total")
LOAD = ("uuid", "utilization.gpu")
APPS = ("pid", "gpu_uuid", "used_memory")


class Table(NamedTuple):
    """What one query gave: its rows, or why there are none."""

    rows: List[Dict[str, Any]]
    why: str


def query(kind: str, fields: "tuple[str, ...]") -> "tuple[str, ...]":
    """The argv of one query; MiB without units."""
    return ("nvidia-smi", "--query-%s=%s" % (kind, ",".join(fields)), "--format=csv,noheader,nounits")


def parse(text: str, fields: "tuple[str, ...]") -> List[Dict[str, Any]]:
    """Rows of ``--format=csv,noheader,nounits``.

    Numbers become ints, ``[N/A]`` and its like None, other lines are passed over.
    """
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(fields):
            rows.append({name: value(cell) for name, cell in zip(fields, cells)})
    return rows


def value(cell: str) -> Any:
    """One cell."""
    if cell.startswith("[") or cell in ("N/A", ""):
        return None
    return int(cell) if cell.isdigit() else cell


def read(kind: str, fields: "tuple[str, ...]") -> Table:
    """Ask once."""
    ran = processes.run(query(kind, fields), timeout=10)
    return Table(parse(ran.out, fields), "") if ran.ok else Table([], ran.words())


def cards() -> Optional[List[Dict[str, Any]]]:
    """Every card with its memory in MiB; None where it cannot be read."""
    ran = processes.run(query("gpu", CARDS), timeout=10)
    return parse(ran.out, CARDS) if ran.ok else None


def users() -> List[Dict[str, Any]]:
    """Every process that holds device memory."""
    ran = processes.run(query("compute-apps", APPS), timeout=10)
    return parse(ran.out, APPS) if ran.ok else []


def used(rows: Optional[List[Dict[str, Any]]]) -> Optional[Dict[str, int]]:
    """MiB in use per card, by uuid; None where nothing could be read."""
    if rows is None:
        return None
    return {str(row["uuid"]): row["memory.used"] for row in rows if isinstance(row["memory.used"], int)}


def still_held(before: Optional[Dict[str, int]], now: Optional[Dict[str, int]], slack_mib: int = 64) -> Dict[str, int]:
    """Cards that hold more than they did before, in MiB over it.

    Drivers keep some MiB of their own, hence the slack.
    """
    if not before or not now:
        return {}
    return {uuid: now[uuid] - mib for uuid, mib in before.items() if uuid in now and now[uuid] - mib > slack_mib}
