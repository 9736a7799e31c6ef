"""Steps as they happen, on the stream people read: a line when a step is over, and one before where it takes time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from stager.cli.output import Output
from stager.models.evidence import Finding
from stager.reports.figures import seconds

#: Events worth a line of their own, and how they read.
LINES = {
    "marker": "    marker {path}",
    "stopped": "    stopped {unit}",
    "not stopped": "    NOT stopped: {unit}",
    "launched": "    launched",
    "warning": "    note: {why}",
}

#: How the host's journal calls what a restore has done -> how an operator does.
DONE = {
    "candidate.stop": "candidate stopped",
    "unit.start": "started",
    "marker.clear": "cleared marker",
    "tree.discard": "files removed:",
}

#: Outcomes of a restore that are not what the step is called after.
OTHERWISE = ("failed", "left", "stuck")

#: A step that is over within so many seconds is not announced before.
PATIENCE = 1.0


class Progress:
    """Tells a run's steps.

    A step is announced when it has run for a second or an event of it is told, so that a waiting operator knows what
    is waited for, and quick steps take one line each.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self._waiting = ""
        self._noted = ""
        self._lock = threading.RLock()
        self._announced = False
        self._timer: threading.Timer | None = None

    def listen(self, step: str, event: dict[str, Any]) -> None:
        """Tell one event of a step."""
        kind = event["event"]
        if kind == "begin":
            self._begin(step)
        elif kind == "end":
            self._end(step, event["seconds"])
        elif kind in LINES:
            self._noted += str(event.get("why", ""))
            self._tell(LINES[kind].format(**event))
        elif kind == "waiting" and event["why"] != self._waiting:
            self._waiting = event["why"]
            self._tell(f"    waiting: {event['why']}")
        elif kind == "journal" and event["kind"] == "done":
            self._tell(f"    {journal_words(event)}")
        elif kind == "armed":
            held = [leg["leg"] for leg in event["legs"] if leg["armed"]]
            missing = [self._missing(leg["leg"], leg["why"]) for leg in event["legs"] if not leg["armed"]]
            self._tell(f"    guard legs: {', '.join(held)}" + (f"; missing: {'; '.join(missing)}" if missing else ""))

    def _missing(self, leg: str, why: str) -> str:
        """A leg that does not hold, with the reason where no note told it before."""
        return leg if why in self._noted else f"{leg} ({why})"

    def told(self, probe: str, finding: Finding | None) -> None:
        """Tell what was found as it comes, below the step it was found in."""
        if finding is None:
            return
        first = f": {finding.reasons[0]}" if finding.reasons and finding.verdict != "passed" else ""
        self._tell(f"    {probe}/{finding.claim}: {finding.verdict} (n={finding.sample_count}){first}")

    def _begin(self, step: str) -> None:
        with self._lock:
            self._waiting, self._announced, self._step = "", False, step
            self._timer = threading.Timer(PATIENCE, self._announce)
            self._timer.daemon = True
            self._timer.start()

    def _announce(self) -> None:
        with self._lock:
            if not self._announced and self._timer:
                self._announced = True
                self.output.say(f"  {self._step} …")

    def _tell(self, line: str) -> None:
        self._announce()
        self.output.say(line)

    def _end(self, step: str, took: float) -> None:
        with self._lock:
            if self._timer:
                self._timer.cancel()
            self._timer = None
            word = "  done:" if self._announced else " "
            self.output.say(f"{word} {step}  {seconds(took)}")


def journal_words(event: Mapping[str, Any]) -> str:
    """What the host's journal says was done, or was not."""
    if event.get("result") in OTHERWISE:
        return f"{event['result']}: {event['what']} {event.get('why', '')}".rstrip()
    what = "" if event["step"] == "candidate.stop" else f" {event['what']}"
    return f"{DONE.get(event['step'], event['step'] + ':')}{what}"
