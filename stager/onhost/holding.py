"""How long a run may be kept: never beyond its deadline, nor beyond the candidate's own runtime."""

from __future__ import annotations

from typing import Any, Dict

from . import clocks, lease
from .channel import Args, Channel
from .faults import Fenced
from .ledger import Ledger, change
from .state import Run


def hold(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Keep the run for so long from now, whether or not anybody is connected; longer than it has is cut to that.

    ``restore_in`` says what it came to, ``limited_by`` what cut it (empty where nothing did).
    """
    asked = float(args["seconds"])
    with change(run, number) as ledger:
        restore = ledger.journal.last("note", "restore")
        if restore and restore["fence"] == number:
            raise Fenced("Run %s was restored meanwhile: %s." % (run.run_id, restore["reason"]), next="stager status")
        room = left(ledger)
        limit = min(room, key=lambda name: room[name])
        seconds = min(asked, room[limit])
        lease.hold(run, seconds)
        limited_by = limit if seconds < asked else ""
        ledger.write("note", "hold", seconds=seconds, asked=asked, limited_by=limited_by, who=args.get("who", ""))
    run.wake("look")
    return {"restore_in": lease.seconds_left(run), "limited_by": limited_by}


def left(ledger: Ledger) -> Dict[str, float]:
    """Seconds that each limit of a run leaves from now, by the playbook's names for them."""
    cap = int((lease.read(ledger.run) or {"cap": 0})["cap"])
    room = {"guard/deadline": (cap - clocks.boottime_ns()) / clocks.SECOND}
    ends = candidate_ends(ledger)
    if ends:
        room["candidate/limits/runtime"] = (ends - clocks.boottime_ns()) / clocks.SECOND
    return {name: max(0.0, seconds) for name, seconds in room.items()}


def candidate_ends(ledger: Ledger) -> int:
    """When the candidate's runtime is over, in ns of this boot; 0 where none was launched."""
    launched = ledger.launched()
    if not launched:
        return 0
    return int(launched[0]["boottime_ns"]) + int(float(ledger.spec["candidate"]["runtime"]) * clocks.SECOND)
