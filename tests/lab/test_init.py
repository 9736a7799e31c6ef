"""A first playbook from a real host: it loads, names what is there, and marks every guess."""

from __future__ import annotations

from pathlib import Path

import yaml

from stager.loading import load_playbook
from tests.lab.desk import changes
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import MARKER, SERVER_THERE, Service, friend, lay, watchdog
from tests.lab.scene import Scene

UNITS = ("prod.service", "chat.service", "llama-proxy.service", "unrelated.service", "watchdog.timer", "other.timer")


def test_init_writes_what_is_there_and_changes_nothing(tmp_path: Path, machine: Machine) -> None:
    """Service, watchdog and marker are found, secrets stay on the host; with its guesses told it runs."""
    services = (Service(flags=("--model", "tiny")), Service("chat.service", 8081, unit=("After=network.target",)))
    secretive = Service("llama-proxy.service", 9191, ("--sick-if", "--api-key=hidden-word"))
    others = watchdog("other", target="unrelated.service")
    more = {"unrelated.service": friend(), "llama-proxy.service": secretive.text().replace(SERVER_THERE, "/opt/p.py")}
    machine.write("/opt/p.py", "import http.server\nhttp.server.HTTPServer(('', 9191), None).serve_forever()\n")
    lay(machine, *services, watchdogs=watchdog() | others, more=more)
    scene = Scene(tmp_path, machine)
    before = machine.snapshot(UNITS)

    said = scene.stager("init", str(scene.desk.playbook), "-o", str(tmp_path / "first.yaml"))

    assert said.code == 0, said.err
    text = (tmp_path / "first.yaml").read_text()
    written = load_playbook(tmp_path / "first.yaml").playbook
    assert written.host == load_playbook(scene.desk.playbook).playbook.host
    assert set(written.production.services) == {"prod.service", "chat.service", "llama-proxy.service"}
    assert written.production.watchdogs == ("watchdog.timer",)
    assert set(written.production.ports) == {8080, 8081, 9191}
    assert written.production.healthy is not None
    assert written.production.healthy.model == "tiny"
    assert written.markers.respect == (MARKER,)
    assert written.candidate.launch[:2] == ("/usr/bin/python3", SERVER_THERE)
    assert "{port}" in written.candidate.launch
    assert "hidden-word" not in said.out + said.err + text
    assert changes(before, machine.snapshot(UNITS)) == ""
    assert scene.stager("init", str(scene.desk.playbook), "-o", str(tmp_path / "first.yaml")).code == 2

    document = yaml.safe_load(text)
    document["probes"] = {"truth": {"rounds": 1}}
    document["production"]["services"] = ["prod.service"]
    (tmp_path / "first.yaml").write_text(yaml.safe_dump(document))
    staged = scene.stager("run", str(tmp_path / "first.yaml"))
    assert staged.code == 0, staged.err


def test_init_on_a_host_with_nothing_on_it(tmp_path: Path, machine: Machine) -> None:
    """Nothing is made up: the playbook loads, names no service, and says where to fill in."""
    scene = Scene(tmp_path, machine)

    said = scene.stager("init", str(scene.desk.playbook))

    assert said.code == 0, said.err
    (tmp_path / "first.yaml").write_text(said.document["playbook"])
    written = load_playbook(tmp_path / "first.yaml").playbook
    assert written.production.services == ()
    assert written.candidate.launch[0] == "/path/to/engine"
