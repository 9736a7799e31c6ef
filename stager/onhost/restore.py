"""The one restore: cleanup, Ctrl-C, lease, deadline, the candidate's death, boot all run this.

It undoes what the journal says is open, newest first, and ends in a verdict. It is idempotent: run twice, or by two
processes at once, it changes nothing more. It needs no new space on disk, and no controller.

Order: candidate, its device memory; markers that a service obeys; services; healthy; watchdogs; other markers; the
rest; verify.
"""

from __future__ import annotations

import contextlib
import sys
import traceback

from . import booted, clocks, closing, fence, markers, notify, unswitch
from .journal import Record
from .ledger import Ledger
from .locks import change_lock
from .state import Run
from .steps import ShuttingDown, Steps, holding_down

TRIES = 20  # patient passes, 0.3 s to 5 s apart: about 80 s in which the host may come back to its senses


def until_done(run: Run, reason: str, by: str) -> Record:
    """Restore, whatever it takes.

    Where a foreign marker holds production down, wait for it to go and go on. Where the host cannot be asked (a manager
    that re-executes itself, a program that breaks), try again, for a minute and more, before giving a verdict on it.

    Raises:
        SystemExit: the host is shutting down.
    """
    told, tries = False, 0
    while True:
        try:
            verdict = once(run, reason, by, patient=tries < TRIES)
        except ShuttingDown:
            sys.exit(0)
        except Exception as error:  # nothing may end a restore but its verdict
            traceback.print_exc()
            if tries > 2 * TRIES:
                raise
            note_trouble(run, error)
            tries += 1
            clocks.pause(min(5.0, 0.3 * tries))
            continue
        if verdict["step"] != "held":
            return verdict
        if not told and by != "controller":
            notify.tell(Ledger(run).spec, closing.message(run.run_id, verdict))
            told = True
        wait_for_foreign(Ledger(run))


def wait_for_foreign(ledger: Ledger) -> None:
    """Wait until no foreign marker holds production down; a shutdown is not held up by it."""
    looks = 0
    while holding_down(ledger):
        clocks.pause(0.2)
        looks += 1
        if looks % 10 == 0 and booted.going_down():
            sys.exit(0)


def note_trouble(run: Run, error: Exception) -> None:
    """Put on record that a pass of the restore broke, so that the next one's reader knows."""
    with contextlib.suppress(Exception), change_lock(run, patience=5.0):
        Ledger(run, fearless=True).write("note", "restore.broke", why="%s: %s" % (type(error).__name__, error))


def once(run: Run, reason: str, by: str, patient: bool = False) -> Record:
    """One pass of the restore. The verdict's step is one of ``ledger.FINAL``, or ``held``.

    ``patient``: what cannot be asked for now is raised, to be tried again, and not judged.

    Raises:
        ShuttingDown: the host goes down, and production could not be brought back before.
    """
    with change_lock(run, usurp=True) as hold:
        hold.extend(10)  # another restore waits for this one as long as it gets on
        ledger = Ledger(run, fearless=True)
        known = ledger.verdict()
        if known and not (known["code"] == 9 and by == "controller"):  # a person may try again
            closing.close(run)
            return known
        with contextlib.suppress(OSError):  # a state folder turned read-only: late changes fail there by themselves
            ledger.number = fence.grant(run)
        ledger.write("note", "restore", reason=reason, by=by)
        record = carry_out(Steps(ledger, hold, by, patient), reason)
        if record["step"] != "held":
            ledger.journal.give_back()
    if record["step"] != "held":
        closing.close(run)
    return record


def carry_out(steps: Steps, reason: str) -> Record:
    """All of it, in order."""
    confirmed = steps.ledger.journal.last("note", "confirmed")
    if confirmed:
        return unswitch.go_forward(steps, reason, confirmed)
    steps.candidate()
    unswitch.switch_back(steps)
    holding = holding_down(steps.ledger)
    if holding and steps.spec["on_foreign"] == "hold" and steps.units("service"):
        return steps.ledger.write("verdict", "held", code=9, reason=reason, foreign=holding)
    others = markers.in_the_way(steps.spec, steps.ledger.markers())
    steps.markers(before_services=True)
    steps.start("service", steps.room())
    steps.healthy()
    steps.start("watchdog", 30.0)
    steps.markers(before_services=False)
    steps.rest()
    return steps.end(reason, others)
