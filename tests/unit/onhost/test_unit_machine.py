"""A model of one unit under our stop, our start, crashes, reboots and other hands: the restore always chooses right."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from stager.onhost import decide


class UnitLife(RuleBasedStateMachine):
    """The unit was active before. The model knows whose doing its state is; ``decide`` sees what a journal holds."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count(1)

    def state(self) -> dict[str, Any]:
        """What systemd would say."""
        return {"load": "loaded", "active": "active" if self.up else "inactive", "invocation": self.invocation}

    @initialize()
    def active_before(self) -> None:
        """Production runs; nothing of ours has happened."""
        self.up, self.invocation = True, f"i{next(self.numbers)}"
        self.before = self.state()
        self.intent = False  # "about to stop" is on record
        self.left: dict[str, Any] | None = None  # "stopped" is on record
        self.starting = False  # "about to start" is on record
        self.over = False
        self.same_boot = True
        self.theirs = False  # somebody else was at it, and their change is the last one

    # -- our way down, which may end between any two steps --------------------------------------------------------

    @precondition(lambda self: not self.intent and not self.over)
    @rule()
    def write_intent(self) -> None:
        """It is on record; nothing is done yet."""
        self.intent = True

    @precondition(lambda self: self.intent and self.left is None and self.same_boot and not self.starting)
    @rule()
    def stop(self) -> None:
        """Our stop; what another hand did before it, we undo unknowingly, as any operator would."""
        self.up = False
        self.theirs = self.invocation != self.before["invocation"]

    @precondition(lambda self: self.intent and self.left is None and not self.up and self.same_boot)
    @rule()
    def write_done(self) -> None:
        """The stop is on record, with the state it left."""
        self.left = self.state()
        self.theirs = False  # whatever was there is what we left, by our own record

    # -- others, and the power ------------------------------------------------------------------------------------

    @rule()
    def another_hand_starts(self) -> None:
        """Somebody starts it: a new InvocationID. After a reboot nobody can tell whose start that was; it stays."""
        if not self.up and not self.starting:
            self.up, self.invocation, self.theirs = True, f"i{next(self.numbers)}", self.same_boot

    @precondition(lambda self: self.theirs and self.up)
    @rule()
    def another_hand_stops(self) -> None:
        """Somebody stops what somebody started: the InvocationID stays."""
        self.up = False

    @rule()
    def reboot(self) -> None:
        """Nothing that was set up by hand survives; InvocationIDs mean nothing any more."""
        self.up, self.invocation, self.theirs, self.same_boot = False, "", False, False

    # -- the restore, which may die between its record and its act ------------------------------------------------

    def choice(self) -> decide.Choice:
        """What the program would do now."""
        return decide.for_unit(self.state(), self.before, self.left, self.starting, self.same_boot, False)

    @precondition(lambda self: self.intent)
    @rule()
    def restore_writes_its_intent_and_dies(self) -> None:
        """The start is announced and never made, or made and never recorded."""
        if self.choice().action == "start":
            self.starting = True

    @precondition(lambda self: self.intent and self.starting and not self.up)
    @rule()
    def the_announced_start_happens(self) -> None:
        """Its InvocationID is new, and it is ours."""
        self.up, self.invocation, self.theirs = True, f"i{next(self.numbers)}", False

    @precondition(lambda self: self.intent)
    @rule()
    def restore(self) -> None:
        """Ours is brought back; theirs is not touched."""
        was, choice = (self.up, self.invocation), self.choice()
        if choice.action == "start":
            assert not self.up
            self.up, self.invocation = True, f"i{next(self.numbers)}"
        if self.theirs and not self.starting:
            assert choice.action == "leave", choice
            assert (self.up, self.invocation) == was
        else:
            assert self.up, choice
            assert choice.action != "leave", choice
        self.over, self.intent, self.left, self.starting = True, False, None, False
        self.before = self.state()
        if self.up:
            self.over, self.theirs, self.same_boot = False, False, True  # the next run begins with what it finds

    @precondition(lambda self: self.over)
    @rule()
    def somebody_brings_it_up_for_the_next_run(self) -> None:
        """What was left down is started, and a new run begins."""
        self.active_before()


TestUnitLife = UnitLife.TestCase
TestUnitLife.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
