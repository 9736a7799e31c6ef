"""What `plan` prints of the steps."""

from __future__ import annotations

import pytest

from stager.cli.output import Output
from stager.cli.planned import show_plan
from stager.run.foresight import Foresight
from stager.staging.plan import PlannedStep

PATH = "/var/lib/stager/releases/" + "a-folder-with-a-long-name/" * 5 + "model.gguf"


@pytest.mark.parametrize("columns", ["40", "80"])
def test_long_paths_stay_whole(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path longer than the terminal is wide stands on one line, so that it can be copied."""
    monkeypatch.setenv("COLUMNS", columns)
    steps = (PlannedStep("marker", f"raise {PATH}", f"{PATH} cleared"), PlannedStep("facts", "look"))
    show_plan(Output(), Foresight("gpu1", {}, {}, (), (), steps, ("marker.clear",)))

    lines = capsys.readouterr().out.splitlines()
    assert f"  1. marker: raise {PATH}" in lines
    assert f"     undone by: {PATH} cleared" in lines
    assert lines[lines.index("  2. facts: look") + 1] == "     undone by: nothing to undo"
