"""What is told of a run's steps."""

from __future__ import annotations

from typing import Any

import pytest

from stager.cli.output import Output
from stager.cli.progress import Progress
from stager.models.evidence import Verdict
from tests.unit.reports.cases import finding

WHY = "there is neither systemd for root nor a cron daemon"
ARMED: dict[str, Any] = {
    "event": "armed",
    "legs": [{"leg": "lease", "armed": True, "why": ""}, {"leg": "boot", "armed": False, "why": WHY}],
}


def test_findings_stand_below_the_step_they_are_from(capsys: pytest.CaptureFixture[str]) -> None:
    """What is measured is named before what was found, also where the step is over within a second."""
    progress = Progress(Output())
    progress.listen("production: overlap", {"event": "begin"})
    progress.told("overlap", finding(verdict=Verdict.FAILED, reasons=("one after the other",)))
    progress.listen("production: overlap", {"event": "end", "seconds": 0.1})

    first, second, _ = capsys.readouterr().out.splitlines()
    assert first == "  production: overlap …"
    assert second == "    overlap/generating: failed (n=34): one after the other"


@pytest.mark.parametrize("noted", [False, True])
def test_why_a_leg_is_missing_is_told_once(noted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason stands in the note before production goes down, or else where the legs are armed; not in both."""
    progress = Progress(Output())
    progress.listen("preflight", {"event": "begin"})
    if noted:
        progress.listen(
            "preflight", {"event": "warning", "why": f"leg boot is missing: {WHY}; a reboot would need you."}
        )
    progress.listen("preflight", ARMED)
    progress.listen("preflight", {"event": "end", "seconds": 0.1})

    said = capsys.readouterr().out
    assert said.count(WHY) == 1
    assert ("guard legs: lease; missing: boot\n" in said) is noted
