"""Steps as they happen, one line each, on the stream people read."""

from __future__ import annotations

from typing import Any

from stager.cli.output import Output
from stager.models.evidence import Evidence

#: Events worth a line of their own, and how they read.
LINES = {
    "marker": "    marker {path}",
    "stopped": "    stopped {unit}",
    "not stopped": "    NOT stopped: {unit}",
    "launched": "    launched",
    "no copies": "    the host keeps no copy of the evidence: {why}",
}


class Progress:
    """Tells a run's steps."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._waiting = ""

    def listen(self, step: str, event: dict[str, Any]) -> None:
        """Tell one event of a step."""
        kind = event["event"]
        if kind == "begin":
            self._waiting = ""
            self.output.say(f"  {step} …")
        elif kind == "end":
            self.output.say(f"  {step}: {event['seconds']:.2f} s")
        elif kind in LINES:
            self.output.say(LINES[kind].format(**event))
        elif kind == "waiting" and event["why"] != self._waiting:
            self._waiting = event["why"]
            self.output.say(f"    waiting: {event['why']}")
        elif kind == "journal" and event["kind"] == "done":
            self.output.say(f"    {event['step']}: {event['what']}")
        elif kind == "armed":
            held = [leg["leg"] for leg in event["legs"] if leg["armed"]]
            missing = [f"{leg['leg']} ({leg['why']})" for leg in event["legs"] if not leg["armed"]]
            self.output.say(
                f"    guard legs: {', '.join(held)}" + (f"; missing: {'; '.join(missing)}" if missing else "")
            )

    def told(self, probe: str, evidence: Evidence | None) -> None:
        """Tell a piece of evidence as it comes."""
        if evidence is None:
            return
        first = f": {evidence.reasons[0]}" if evidence.reasons and evidence.verdict != "passed" else ""
        self.output.say(f"    {probe}/{evidence.claim}: {evidence.verdict} (n={evidence.sample_count}){first}")
