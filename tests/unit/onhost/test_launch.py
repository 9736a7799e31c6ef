"""What the candidate is told: by a credential that only its unit may read, gone again whatever happens."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stager.onhost import closing, launch, processes
from stager.onhost.faults import CandidateFailed
from stager.onhost.state import Run

SPEC: dict[str, Any] = {"grace": 5, "runtime": 60, "memory": 0, "user": ""}
WHAT = {"argv": ["/bin/sh", "-c", 'echo "$WORD $KEY $HOME"'], "env": {"WORD": "w"}, "cwd": "/", "home": "", "user": ""}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run in a folder with a percent sign, its credential beside it."""
    run = Run(str(tmp_path / "100% state"), "run-1")
    run.make()
    run.credential_path = str(tmp_path / "runtime" / "candidate-run-1.json")
    return run


def test_the_credential_is_there_for_the_start_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """While systemd starts the unit the file is its owner's only; afterwards it is gone, also when the start failed."""
    seen = {}

    def start(argv: list[str], timeout: float = 0, **_: Any) -> processes.Ran:
        if argv[0] == "systemd-run":
            seen["argv"] = argv
            seen["mode"] = stat.S_IMODE(os.stat(run.credential_path).st_mode)
            seen["told"] = json.loads(Path(run.credential_path).read_text())
            return processes.Ran(argv, 1, "", "refused")
        return processes.Ran(argv, 0, "LoadState=not-found\n", "")

    monkeypatch.setattr(processes, "run", start)
    with pytest.raises(CandidateFailed, match="refused"):
        launch.start_unit(run, SPEC, "/onhost", WHAT, {"KEY": "s3cret"})
    assert seen["mode"] == 0o600
    assert seen["told"] == {"what": WHAT, "secrets": {"KEY": "s3cret"}}
    assert os.listdir(os.path.dirname(run.credential_path)) == []
    assert "s3cret" not in " ".join(seen["argv"])
    assert f"--property=StandardOutput=append:{run.output_path}" in seen["argv"]
    assert f"--property=LoadCredential=candidate:{run.credential_path}" in seen["argv"]


def test_the_launcher_becomes_what_its_credential_says(tmp_path: Path) -> None:
    """Program, environment and secrets come from there and from nowhere else."""
    (tmp_path / "candidate").write_text(json.dumps({"what": WHAT, "secrets": {"KEY": "k"}}))
    env = {"CREDENTIALS_DIRECTORY": str(tmp_path), "STATE_DIRECTORY": "/home/of", "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-c", "from stager.onhost import launch; launch.main()"]
    root = str(Path(launch.__file__).parents[2])
    said = subprocess.run(argv, env=env | {"PYTHONPATH": root}, capture_output=True, text=True, check=True)
    assert said.stdout == "w k /home/of\n"


def test_a_launcher_without_its_credential_says_so(tmp_path: Path) -> None:
    """It ends as a program that could not be started, with words in the candidate's log."""
    argv = [sys.executable, "-c", "from stager.onhost import launch; launch.main()"]
    env = {"PYTHONPATH": str(Path(launch.__file__).parents[2])}
    said = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert said.returncode == 127
    assert "could not be started" in said.stderr


def test_what_a_kill_left_of_it_is_swept_at_the_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under its own name or a private one; the run's other files stay."""
    monkeypatch.setattr(closing.legs, "disarm", lambda run: None)
    folder = Path(run.credential_path).parent
    folder.mkdir()
    for name in ("candidate-run-1.json", ".candidate-run-1.json.0a1b", "candidate-run-2.json"):
        (folder / name).touch()
    closing.close(run)
    assert os.listdir(folder) == ["candidate-run-2.json"]
