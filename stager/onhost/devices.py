"""What this host's cards do for a run: the memory its candidate's processes hold, and how busy its cards are."""

from __future__ import annotations

from typing import Any, Dict, List, Set

from . import gpu
from .candidate import launched
from .channel import Args, Channel, named
from .faults import Fault
from .ledger import Ledger

MIB = 2**20


def device(channel: Channel, args: Args) -> Any:
    """One reading: ``{"value": int or None, "why": words}``.

    ``what`` is ``memory`` (bytes that the candidate's processes hold) or ``busy`` (percent, of the busiest of the
    cards that it has to itself). ``why`` says why there is no value.
    """
    candidate = launched(Ledger(named(channel.state, args["run_id"])))
    if candidate is None:
        return unseen("no candidate of this run is up")
    pids = candidate.pids()
    apps = gpu.read("compute-apps", gpu.APPS)
    if apps.why:
        return unseen(apps.why)
    mine = [row for row in apps.rows if row["pid"] in pids]
    if args["what"] == "memory":
        return memory(mine)
    if args["what"] == "busy":
        others = [row for row in apps.rows if row["pid"] not in pids]
        return busy(gpu.read("gpu", gpu.LOAD), cards_of(mine), cards_of(others))
    raise Fault("a device has no %s" % args["what"])


def memory(mine: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The bytes that a candidate's rows add up to."""
    if not mine:
        return unseen("nvidia-smi lists no process of the candidate")
    if not all(isinstance(row["used_memory"], int) for row in mine):
        return unseen("nvidia-smi does not tell here how much memory a process holds")
    return {"value": sum(row["used_memory"] for row in mine) * MIB, "why": ""}


def cards_of(rows: List[Dict[str, Any]]) -> Set[str]:
    """The cards on which some processes hold memory."""
    return {str(row["gpu_uuid"]) for row in rows}


def busy(cards: "gpu.Table", mine: Set[str], others: Set[str]) -> Dict[str, Any]:
    """The utilisation of the busiest card that only the candidate uses: anybody else's work must not count as its."""
    if cards.why:
        return unseen(cards.why)
    if not mine:
        return unseen("nvidia-smi lists no process of the candidate")
    if not mine - others:
        return unseen("another process holds memory on the candidate's card: whose work it does cannot be told")
    told = [row["utilization.gpu"] for row in cards.rows if row["uuid"] in mine - others]
    known = [percent for percent in told if isinstance(percent, int)]
    if not known:
        return unseen("nvidia-smi does not tell here how busy a card is")
    return {"value": max(known), "why": ""}


def unseen(why: str) -> Dict[str, Any]:
    """No reading."""
    return {"value": None, "why": why}
