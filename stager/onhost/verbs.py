"""What a controller may ask of this host, by name."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from . import changing, devices, fence, holding, keeping, looking, opening, promote, scout
from .channel import Args, Channel, named
from .faults import Fault, Fenced
from .state import Run

LOOKING: Dict[str, Callable[[Channel, Args], Any]] = {
    "look": looking.look,
    "status": looking.status,
    "logs": looking.logs,
    "collect": looking.collect,
    "journal": looking.journal,
    "read": looking.read,
    "scout": scout.scout,
    "kept": keeping.kept,
    "metronome": looking.beat_source,
    "device": devices.device,
    "promoted": promote.promoted,
    "open": opening.open_run,
    "attach": opening.attach,
}
CHANGING: Dict[str, Callable[[Channel, Run, int, Args], Any]] = {
    "lay": changing.lay,
    "prepare": changing.prepare,
    "take_down": changing.arm_and_take_down,
    "launch": changing.start_candidate,
    "stock": promote.stock,
    "switch": promote.switch_over,
    "prove": promote.prove,
    "confirm": promote.confirm,
    "keep": keeping.keep,
    "hold": holding.hold,
    "restore": changing.restore_now,
    "release": opening.release,
}


def carry_out(channel: Channel, verb: str, args: Args, number: Optional[int]) -> Any:
    """Carry out one verb.

    Raises:
        Fault: what the controller is to hear.
    """
    if verb in LOOKING:
        return LOOKING[verb](channel, args)
    if verb in CHANGING:
        run = named(channel.state, args["run_id"])
        if number is None:
            raise Fenced("%s changes the host and needs a fence" % verb)
        if verb != "restore":  # it looks for itself: a controller whose run the guard took over may follow the end
            fence.check(run, number)
        return CHANGING[verb](channel, run, number, args)
    raise Fault("this host program does not know the verb %s" % verb)
