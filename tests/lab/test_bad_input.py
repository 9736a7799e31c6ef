"""Bad input: each its exit code, one clear sentence with what to type next, and the host untouched or restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab.desk import CANDIDATE_PORT, Desk, Said, changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay

UNITS = ("prod.service", "watchdog.timer")
PYTHON = "/usr/bin/python3"


@pytest.fixture
def desk(tmp_path: Path, machine: Machine) -> Desk:
    """A desk for a host with production on it."""
    lay(machine)
    return Desk(tmp_path, machine)


def refused(desk: Desk, code: int, *words: str) -> Said:
    """Stage; it must end with this code and these words, with the host as it was and nothing left behind."""
    before = desk.machine.snapshot(UNITS)
    left_before = leftovers(desk.machine)

    said = desk.stager("stage", str(desk.playbook), "--json")

    error = said.document["error"]
    assert said.code == error["code"] == code, said.err
    for word in words:
        assert word in error["message"], error["message"]
    assert error["host_state"]
    assert changes(before, desk.machine.snapshot(UNITS)) == ""
    assert leftovers(desk.machine) == left_before
    return said


def leftovers(machine: Machine) -> set[str]:
    """Units of ours, open runs, and processes of ours on the host."""
    units = machine.sh("systemctl", "list-units", "--all", "--plain", "--no-legend", "stager*").stdout
    opened = machine.sh("sh", "-c", "ls /var/tmp/stager-open /var/lib/stager-candidate 2>/dev/null; true")
    return {line.split()[0] for line in units.splitlines()} | {
        word for word in opened.stdout.split() if not word.endswith(":")
    }


def candidate(desk: Desk, script: str, **more: Any) -> None:
    """Make the candidate this script instead of a server."""
    (desk.playbook.parent / "server" / "serve.py").write_text(script)
    desk.write(candidate={"ready": {"timeout": "4s"}, **more})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"candidate": {"lanch": ["x"]}}, ("lanch", "launch", "lab.yaml:")),
        ({"guard": {"lease": "soon"}}, ("guard/lease", "soon")),
        ({"candidate": {"port": 8080}}, ("candidate/port", "8080")),
        ({"candidate": {"release": "./nowhere"}}, ("candidate/release", "nowhere")),
    ],
    ids=["unknown key", "wrong type", "a port production declared", "missing release folder"],
)
def test_a_wrong_playbook_is_3_and_never_reaches_the_host(desk: Desk, change: dict[str, Any], words: Any) -> None:
    """What a playbook says wrongly is told with its key before anything is connected to."""
    desk.write(**change)
    refused(desk, 3, *words)


def test_a_port_in_use_is_4(desk: Desk, machine: Machine) -> None:
    """Somebody listens on the candidate's port: refused, with who it is."""
    machine.start(PYTHON, "-m", "http.server", str(CANDIDATE_PORT), "--bind", "127.0.0.1")
    machine.sh("sh", "-c", f"until ss -ltn | grep -q {CANDIDATE_PORT}; do sleep 0.1; done")

    refused(desk, 4, str(CANDIDATE_PORT), "http.server")


def test_a_program_that_is_not_there_is_4(desk: Desk) -> None:
    """A launch command that does not exist on the host is refused before anything is stopped."""
    desk.write(candidate={"launch": ["/opt/no/such/engine", "--port", "{port}"]})

    refused(desk, 4, "/opt/no/such/engine")


def test_an_unknown_unit_is_4(desk: Desk) -> None:
    """A service that the host does not know is refused."""
    desk.write(production={"services": ["prod.service", "nosuch.service"]})

    refused(desk, 4, "nosuch.service")


def test_production_that_is_not_healthy_even_now_is_4(desk: Desk) -> None:
    """A restore could not be told from a failure where health is not true before the run."""
    desk.write(production={"healthy": {"url": "http://127.0.0.1:8080/v1/nothing", "within": "5s"}})

    refused(desk, 4, "not healthy even now")


def test_a_candidate_that_exits_at_once_is_5_with_the_end_of_its_log(desk: Desk) -> None:
    """It ended: restored, and its last words are told."""
    candidate(desk, "import sys; print('no CUDA device found'); sys.exit(3)\n")

    said = refused(desk, 5, "ended")

    assert "no CUDA device found" in said.document["error"]["log"]
    assert "restored" in said.document["error"]["host_state"]


def test_a_candidate_that_never_answers_is_5(desk: Desk) -> None:
    """It listens and says nothing: restored when its time is over."""
    candidate(
        desk,
        "import socket, sys, time\ns = socket.create_server(('127.0.0.1', int(sys.argv[2])))\ntime.sleep(600)\n",
    )

    refused(desk, 5, "not ready in 4s")


def test_a_candidate_on_another_port_is_5(desk: Desk) -> None:
    """It listens elsewhere: the message says where."""
    candidate(desk, "import http.server\nhttp.server.HTTPServer(('127.0.0.1', 18099), None).serve_forever()\n")

    refused(desk, 5, "18099", str(CANDIDATE_PORT))


def test_a_candidate_on_productions_port_is_5(desk: Desk) -> None:
    """It takes production's port: ended at once."""
    candidate(desk, "import http.server\nhttp.server.HTTPServer(('127.0.0.1', 8080), None).serve_forever()\n")

    refused(desk, 5, "production's port 8080")


def test_a_host_that_is_not_there_is_10(desk: Desk) -> None:
    """No route: said within seconds."""
    desk.write(host={"address": "127.0.0.1", "port": 9})

    said = refused(desk, 10)

    assert said.document["error"]["next"]


def test_an_unknown_host_key_is_10_with_what_to_type(desk: Desk, tmp_path: Path) -> None:
    """A key that is not known is never accepted; the sentence says how to look at it."""
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    desk.write(host={"known_hosts": str(empty)})

    said = refused(desk, 10, "key")

    assert "ssh" in said.document["error"]["next"]


def test_a_host_without_python_is_4(desk: Desk, machine: Machine) -> None:
    """No python3 on the host: what to install is said."""
    machine.sh("mv", "/usr/bin/python3", "/usr/bin/python3.hidden")
    try:
        said = desk.stager("stage", str(desk.playbook), "--json")
    finally:
        machine.sh("mv", "/usr/bin/python3.hidden", "/usr/bin/python3")

    assert said.code == 4
    assert "python3" in said.document["error"]["message"]
    assert said.document["error"]["host_state"] == "untouched"
