"""What a controller hears of a run that is its own no more."""

from __future__ import annotations

from typing import Optional

from . import clocks, fence
from .faults import CandidateFailed, Fault, Fenced
from .journal import Record
from .ledger import Ledger
from .state import Run

DIED = "candidate died"  # how the guard's reason begins when it did
UNDER_WAY = "the guard puts production back; how it ends is in the run's journal on the host"


def word(run: Run, number: int) -> Optional[Fault]:
    """Why the controller that was granted this number has lost the run; None while it has not."""
    if fence.read(run.fence_path) == number:
        return None
    restore = restored_by(run)
    step = "stager show %s" % run.run_id
    if restore is None:
        state = "another controller has this run now; nothing more that we ask for is done"
        return Fenced("Run %s was taken over by another controller." % run.run_id, host_state=state, next=step)
    reason = str(restore["reason"])
    if reason.startswith(DIED):
        words = "The %s. The guard puts production back." % reason
        return CandidateFailed(words, log=run.output_tail(), host_state=UNDER_WAY, next=step)
    return Fenced("Run %s was ended on the host: %s." % (run.run_id, reason), host_state=UNDER_WAY, next=step)


def restored_by(run: Run) -> Optional[Record]:
    """The restore that took the run's fence; None where another controller did.

    It takes the fence first and says so then: it is given a moment.
    """
    for _ in range(20):
        record = Ledger(run).journal.last("note", "restore")
        if record and record["fence"] == fence.read(run.fence_path):
            return record
        clocks.pause(0.02)
    return None
