"""Commands about a run whose host does not answer any more."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from stager.cli.demo import GONE, LEFT, rest
from stager.cli.main import main
from stager.demo.place import Place
from stager.evidence.records import Records
from stager.run.copies import keep_files
from tests.unit.reports.cases import record

RUN = "20261129t030000-7c1e"
PLAYBOOK = """\
stager: 1
name: gone
host: {{address: 127.0.0.1, port: {port}, user: ops}}
candidate: {{release: ., launch: [./serve, --port, "{{port}}"], engine: llama.cpp}}
production:
  manager: systemd
  services: [llama.service]
  ports: [8080]
  healthy: {{url: "http://127.0.0.1:8080/v1/chat/completions"}}
probes: {{overlap: {{streams: 4}}}}
"""


@pytest.fixture
def port() -> int:
    """A port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@pytest.fixture
def home(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A controller that knows one run on a host whose sshd is gone."""
    monkeypatch.setenv("STAGER_HOME", str(tmp_path))
    Records(tmp_path).save(record(run_id=RUN, evidence=(), baseline=()))
    keep_files(tmp_path, RUN, {"playbook.yaml": PLAYBOOK.format(port=port)})
    return tmp_path


def test_the_kept_output_of_a_run_that_is_over(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`logs` shows the copy and says that it is one; without a copy the host is needed."""
    assert main(["logs", RUN]) == 10
    capsys.readouterr()
    keep_files(home, RUN, {"output.log": "loaded\nserving\n"})

    assert main(["logs", RUN]) == 0
    said = capsys.readouterr()
    assert said.out == "loaded\nserving\n"
    assert "no SSH server listens there" in said.err
    assert f"the copy that was kept here when run {RUN} ended" in said.err
    assert main(["logs", RUN, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"run_id": RUN, "output": "loaded\nserving\n"}


def test_the_demo_says_which_commands_its_end_leaves(
    home: Path, port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the demo's sshd each command that it names as working does its work, and each other one is exit 10."""
    release = tmp_path / "release"
    release.mkdir()
    (release / "serve").touch()
    playbook = release / "p.yaml"
    playbook.write_text(PLAYBOOK.format(port=port))
    keep_files(home, RUN, {"output.log": "serving\n"})
    words = {"evidence": ["list"], "compare": [RUN, RUN], "worklog": [], "runs": [], "gate": ["cd34" * 16]}

    codes = {name: main([name, *words.get(name, [RUN])]) for name in LEFT}
    assert codes == dict.fromkeys(LEFT, 0) | {"gate": 7}  # there is no evidence here
    for name in GONE:
        assert main([name, RUN if name == "cleanup" else str(playbook)]) == 10, name
    closing = "\n".join(rest(Place(tmp_path, tmp_path, tmp_path, 1, port), RUN))
    assert f"STAGER_HOME={tmp_path / 'controller'} " in closing
    assert all(name in closing for name in (*LEFT, *GONE))


def test_status_says_the_same_with_and_without_a_name(
    home: Path, port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host that cannot be asked is named once, and is exit 10 whether it was typed or is known from a run."""
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK.format(port=port))

    for words in (["status"], ["status", str(playbook)]):
        assert main(words) == 10
        said = capsys.readouterr().err
        assert said == f"127.0.0.1, port {port}, refuses connections: no SSH server listens there.\n"


def test_an_unknown_probe_is_refused_before_its_host_is_asked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`verify --probe nope` is wrong use wherever the host is; a probe that exists needs the host."""
    assert main(["verify", RUN, "--probe", "nope"]) == 2
    assert "There is no probe nope; there are: cancel, " in capsys.readouterr().err
    assert main(["verify", RUN, "--probe", "overlap"]) == 10
