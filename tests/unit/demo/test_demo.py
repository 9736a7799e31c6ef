"""The demo itself, as `make demo` runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stager.demo.host.service import identity

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]
DEMO = [sys.executable, "-m", "stager", "demo", "--json"]


def left_running(home: Path) -> list[str]:
    """The command lines of every process that has to do with a demo in this home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it ended meanwhile
            continue
        if str(home / "demo") in words and identity(int(folder.name)):
            found.append(words)
    return found


def test_the_demo_shows_four_against_one_and_leaves_a_report(tmp_path: Path) -> None:
    """Production reads peak 1, the candidate 4; the gate promotes, production is back and nothing is left running."""
    home = tmp_path / "home"
    done = subprocess.run(DEMO, env=os.environ | {"STAGER_HOME": str(home)}, capture_output=True, text=True)

    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == 0, done.stderr
    measured = {item["claim"]: item for item in document["evidence"]}
    before = {item["finding"]["claim"]: item["finding"] for item in document["baseline"]}
    assert measured["generating"]["measurements"]["gauge_peak"]["value"] == 4
    assert before["generating"]["measurements"]["gauge_peak"]["value"] == 1
    assert before["generating"]["measurements"]["generating_at_once"]["value"] == 1
    for item in (*measured.values(), *before.values()):
        assert item["sample_count"] > 0
        assert item["termination"]["streams"]
        assert item["not_proven"]
    assert document["gate"]["verdict"] == "promote"
    assert document["cleanup"]["production_as_before"] is True
    assert document["cleanup"]["left"] == []
    report = Path(document["report"]).read_text()
    assert document["run_id"] in report
    assert "<svg" in report
    assert "production: process" in done.stderr
    told = done.stderr.splitlines()
    measuring = told.index("  production: overlap …")
    assert any("overlap/generating: failed" in line for line in told[measuring : told.index("  launch …")])
    assert left_running(home) == []


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path) -> None:
    """A demo that is interrupted while production is down puts it back, ends all it started and exits with 130."""
    home = tmp_path / "home"
    process = subprocess.Popen(DEMO, env=os.environ | {"STAGER_HOME": str(home)}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    assert process.stderr
    assert any("launched" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)

    document = json.loads(out)
    assert process.returncode == document["exit_code"] == 130, err
    assert document["cleanup"]["production_as_before"] is True
    assert left_running(home) == []
