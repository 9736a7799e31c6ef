"""What a controller hears of a run that is its own no more."""

from __future__ import annotations

from typing import Optional

from . import fence
from .faults import CandidateFailed, Fault, Fenced
from .ledger import Ledger
from .state import Run

DIED = "candidate died"  # how the guard's reason begins when it did


def word(run: Run, number: int) -> Optional[Fault]:
    """Why the controller that was granted this number has lost the run; None while it has not."""
    if fence.read(run.fence_path) == number:
        return None
    restore = Ledger(run).journal.last("note", "restore")
    step = "stager show %s" % run.run_id
    if restore is None:
        return Fenced("Run %s was taken over by another controller." % run.run_id, next=step)
    reason = str(restore["reason"])
    if reason.startswith(DIED):
        words = "The %s. The guard has put production back." % reason
        return CandidateFailed(words, log=run.output_tail(), next=step)
    return Fenced("Run %s was ended on the host: %s." % (run.run_id, reason), next=step)
