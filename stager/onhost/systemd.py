"""systemd, by ``systemctl``: ask for states as they are, stop, start, and read back every change.

``show`` is read field by field and never judged by its exit status: an unknown unit exits 0 with
``LoadState=not-found``. Commands never wait for a password and never print through a pager.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from . import cgroups, clocks, processes, survey
from .processes import Ran
from .units import FIELDS, Unit, by_after, came_up, parse, state_of

ASK_S = 30.0  # seconds for a question about named units: a manager that hangs must not cost what a change may take


def systemctl(user: bool, *words: str) -> Tuple[str, ...]:
    """The argv of one systemctl call."""
    return ("systemctl", "--no-ask-password", "--no-pager", *(("--user",) if user else ()), *words)


class Systemd:
    """The units of the system manager, or of one user's."""

    def __init__(self, user: bool = False) -> None:
        self.user = user

    def ctl(self, *words: str, timeout: float = 60.0) -> Ran:
        """Run one systemctl call."""
        return processes.run(systemctl(self.user, *words), timeout)

    def units(self, names: Sequence[str], everything: bool = False) -> Dict[str, Unit]:
        """Units by the name they were asked for, with all FIELDS; with ``everything`` also every other loaded unit.

        Raises:
            OSError: the manager does not answer.
        """
        found: Dict[str, Unit] = {}
        if names:
            ran = self.ctl("show", "-p", ",".join(FIELDS), "--", *names, timeout=ASK_S)
            blocks = parse(ran.out)
            if len(blocks) != len(names):
                raise OSError("systemctl show answered %d of %d units: %s" % (len(blocks), len(names), ran.words()))
            found = dict(zip(names, blocks))
        if everything:
            ran = self.ctl("show", "-p", ",".join(FIELDS), "--", "*")
            if not ran.ok:  # a part of the units would read as all of them
                raise OSError("systemctl show of every loaded unit: %s" % ran.words())
            for unit in parse(ran.out):
                found.setdefault(unit.get("Id", ""), unit)
        return found

    def look(self, names: Sequence[str]) -> Dict[str, Dict[str, Any]]:
        """The recorded state of each name."""
        return {name: state_of(unit) for name, unit in self.units(names).items()}

    def survey(self, names: Sequence[str]) -> Dict[str, Any]:
        """What preflight needs (``survey.summed_up``); what a start would drag in is asked for even if not loaded."""
        found = self.units(names, everything=True)
        along = survey.taken_along(names, found)
        missing = {
            u for n in [*names, *along] for e in survey.DRAGS_IN for u in found[n].get(e, "").split() if u not in found
        }
        found.update(self.units(sorted(missing)))
        return survey.summed_up(names, found, along)

    def stop(self, names: Sequence[str], timeout: float) -> Dict[str, str]:
        """Stop units and read back each; returns those that did not go down, with why.

        A cancelled stop is asked for again.
        """
        left = self.in_order(names[::-1])[::-1]
        ran = Ran((), 0, "", "")
        for _ in range(3):
            ran = self.ctl("stop", "--", *left, timeout=timeout)
            states = self.units(left)
            left = [name for name in left if states[name].get("ActiveState") not in ("inactive", "failed")]
            if not left or ran.code is None:
                break
            clocks.pause(0.3)
        return {
            name: "%s is %s: %s" % (name, self.units([name])[name].get("ActiveState"), ran.words()) for name in left
        }

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Start units and read back each; returns those that did not come up, with why.

        ``alone`` leaves dependencies out, for units whose start would drag in what was not running. A refusal by the
        start limit is lifted once for these units only (they ran until we stopped them); a cancelled or destructive
        transaction is asked for again.
        """
        mode = ("--job-mode=ignore-dependencies",) if alone else ()
        left = self.in_order(names)
        ran = Ran((), 0, "", "")
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        self.end_stops(left)
        for _ in range(4):
            room = max(1.0, (end - clocks.boottime_ns()) / clocks.SECOND)
            ran = self.ctl("start", *mode, "--", *left, timeout=room)
            states = self.units(left)
            left = [name for name in left if not came_up(states[name])]
            if not left or ran.code is None:
                break
            for name in left:
                # A start limit shows in no field where the unit had failed before: systemd keeps that first Result.
                if states[name].get("ActiveState") == "failed" or "start-limit" in ran.err:
                    self.ctl("reset-failed", "--", name)
            clocks.pause(0.3)
            self.end_stops(left)
        return {name: self.why_down(name, ran) for name in left}

    def in_order(self, names: Sequence[str]) -> List[str]:
        """The names in the order in which systemd must be asked to start them.

        One command asks for one unit after the other, and the first may run before systemd has heard of the next: its
        own ``After=`` then holds only towards units that it was asked for before.
        """
        if len(names) < 2:
            return list(names)
        blocks = parse(self.ctl("show", "-p", "Id,After", "--", *names, timeout=ASK_S).out)
        return by_after(names, dict(zip(names, blocks))) if len(blocks) == len(names) else list(names)

    def end_stops(self, names: Sequence[str]) -> None:
        """KILL what is still on its way down: a start would wait for a stop that may never end by itself."""
        for name, unit in self.units(names).items():
            if unit.get("ActiveState") == "deactivating":
                self.ctl("kill", "--kill-who=all", "--signal=KILL", "--", name)

    def why_down(self, name: str, ran: Ran) -> str:
        """Why a start left a unit down."""
        unit = self.units([name])[name]
        if ran.ok and unit.get("ConditionResult") == "no":
            return "%s was started, but a condition of its own keeps it down" % name
        return "%s is %s (%s): %s" % (name, unit.get("ActiveState"), unit.get("Result"), ran.words())

    def running(self, record: Dict[str, Any]) -> bool:
        """Whether a unit seems to run, by its control group alone: cheap enough for every second."""
        return bool(record.get("cgroup")) and cgroups.exists(record["cgroup"])
