"""Production that systemd does not run: supervisord, podman, a user's own units, commands. The same promises hold."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REQUIRED
from tests.lab import managed
from tests.lab.desk import Desk
from tests.lab.managed import KINDS, Managed
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until

CANDIDATE = {"user": "plain", "stop": {"grace": "1s"}, "limits": {"runtime": "2m"}}
STATES = {"root": "/var/lib/stager", "plain": "/home/plain/.local/state/stager/onhost"}


class Ground:
    """A host with one kind of production on it, and the desk before it."""

    def __init__(self, folder: Path, machine: Machine, kind: Managed) -> None:
        self.machine = machine
        self.kind = kind
        managed.lay(machine, kind)
        self.desk = Desk(folder, machine)
        self.desk.write(
            host={"user": kind.user},
            candidate=CANDIDATE if kind.user == "root" else CANDIDATE | {"user": None},
            production=kind.production(),
            markers={"raise": [], "respect": []},
            guard={"lease": "5s", "deadline": "5m"},
        )
        self.wait_up()

    def runs(self) -> tuple[bool, bool]:
        """Whether `prod` and `idle` run."""
        prod, idle = (managed.name_of(entry) for entry in self.kind.services)
        return self.kind.runs(self.machine, prod), self.kind.runs(self.machine, idle)

    def pid(self) -> int:
        """The process that answers on production's port, as it says itself; 0 when none does."""
        ask = "import json,urllib.request as u;print(json.load(u.urlopen('http://127.0.0.1:8080/health',timeout=5))['pid'])"
        done = self.machine.sh("/usr/bin/python3", "-c", ask, check=False)
        return int(done.stdout) if done.returncode == 0 else 0

    def wait_up(self) -> None:
        """Wait until production answers."""
        until(self.pid, "production to answer", 30)

    def group(self) -> str:
        """The control groups of production's process, as the host sees them."""
        (pid,) = self.machine.sh("pgrep", "-f", "tinyprod.py .*--port 8080").stdout.split()[:1]
        return self.machine.sh("cat", f"/proc/{pid}/cgroup").stdout

    def verdict(self, run_id: str) -> dict[str, Any] | None:
        """The newest verdict in a run's journal."""
        path = f"{STATES[self.kind.user]}/runs/{run_id}/journal.jsonl"
        records = [json.loads(line) for line in self.machine.read(path).splitlines()]
        return next((r for r in reversed(records) if r["kind"] == "verdict"), None)


ASKED = "/tmp/asked"
#: A server that writes down which model each request names, and knows only some.
ASKING = f"""import http.server, json, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        open("{ASKED}", "a").write(model + "\\n")
        body = json.dumps(dict(choices=[dict(message=dict(content="yes"))])).encode()
        self.send_response(404 if model == "gone" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Answer).serve_forever()
"""


@pytest.fixture(params=sorted(KINDS))
def ground(request: pytest.FixtureRequest, tmp_path: Path, machines: Callable[..., list[Machine]]) -> Ground:
    """One host of each kind; where this machine lacks the kind's programs, that is said."""
    kind = KINDS[request.param]
    if absent := [name for name in kind.needs if shutil.which(name) is None]:
        words = f"production by {kind.kind} needs {', '.join(absent)} on this machine: see .ci/packages"
        pytest.fail(words) if REQUIRED else pytest.skip(words)
    (machine,) = machines(1, **kind.host)
    return Ground(tmp_path, machine, kind)


def test_production_goes_down_and_comes_back_as_it_was(ground: Ground) -> None:
    """A rehearsal stops what runs and starts it again, in no group of ours; what was stopped stays stopped."""
    until(lambda: ground.runs() == (True, False), "production to run", 15)  # supervisord calls it so after a second
    before = ground.pid()

    said = ground.desk.stager("rehearse", str(ground.desk.playbook), "--json")

    assert said.code == 0, said.err
    cleanup = said.document["cleanup"]
    assert cleanup["production_as_before"]
    assert cleanup["downtime_seconds"] > 0
    assert ground.runs() == (True, False)
    assert "/stager-" not in ground.group().replace("/stager-lab/", "/")
    if ground.kind.kind != "podman":  # a container counts its own processes from 1
        assert ground.pid() != before


def test_another_hands_start_is_seen_and_left_alone(ground: Ground) -> None:
    """Production started by a person while a candidate is staged ends the run, and that start is theirs (8)."""
    staged = ground.desk.stager("stage", str(ground.desk.playbook), "--hold", "60s", "--json")
    assert staged.code == 0, staged.err
    run_id = str(staged.document["run_id"])
    prod = managed.name_of(ground.kind.services[0])
    assert ground.runs() == (False, False)

    ground.kind.turn(ground.machine, "start", prod)
    ground.wait_up()
    theirs = ground.pid()
    until(lambda: ground.verdict(run_id), "a verdict", 40)

    verdict = ground.verdict(run_id)
    assert verdict
    assert (verdict["step"], verdict["code"]) == ("restored, something left", 8), verdict
    assert verdict["reason"] == f"another hand started {prod}"
    assert verdict["left"] == [{"what": prod, "path": "", "why": "was started by another hand during the run"}]
    assert ground.runs() == (True, False)
    assert ground.pid() == theirs


def test_a_users_units_come_back_after_a_power_cut(tmp_path: Path, machine: Machine) -> None:
    """Without root the boot leg is cron's: it waits for the user's manager and starts what ran and no boot starts."""
    ground = Ground(tmp_path, machine, KINDS["systemd-user"])
    staged = ground.desk.stager("stage", str(ground.desk.playbook), "--hold", "60s", "--json")
    assert staged.code == 0, staged.err

    machine.cut_power()
    machine.boot()

    until(lambda: ground.verdict(str(staged.document["run_id"])), "a verdict", 60)
    verdict = ground.verdict(str(staged.document["run_id"]))
    assert verdict
    assert (verdict["step"], verdict["by"]) == ("restored", "boot"), verdict
    assert ground.runs() == (True, False)


def test_root_has_no_business_with_a_users_units(tmp_path: Path, machine: Machine) -> None:
    """As root, `systemd-user` is refused before anything is done (4), with the login that would do."""
    ground = Ground(tmp_path, machine, KINDS["systemd-user"])
    ground.desk.write(host={"user": "root"}, production=ground.kind.production(), markers={"raise": [], "respect": []})

    said = ground.desk.stager("rehearse", str(ground.desk.playbook))

    assert said.code == 4, said.err
    assert "log in as the user whose units they are, with host/become: none" in " ".join(said.err.split())
    assert ground.runs() == (True, False)


def test_a_user_without_a_manager_is_told_how_to_get_one(tmp_path: Path, machine: Machine) -> None:
    """An ordinary user whose own manager does not run is refused (4) with the command that starts one."""
    desk = Desk(tmp_path, machine)
    section = {**KINDS["systemd-user"].production(), "healthy": None, "drain": None}
    desk.write(host={"user": "plain"}, production=section, markers={"raise": [], "respect": []})

    said = desk.stager("rehearse", str(desk.playbook))

    assert said.code == 4, said.err
    assert "`loginctl enable-linger plain`" in " ".join(said.err.split())


def test_what_commands_start_is_nobodys_child(tmp_path: Path, machine: Machine) -> None:
    """Started by root's guard, production has no shield from the OOM killer, no ignored hangup, a scope of its own."""
    kind = replace(KINDS["command"], user="root", lay=lambda host: start_as_root(host, managed.ARGV))
    ground = Ground(tmp_path, machine, kind)
    before = ground.pid()

    said = ground.desk.stager("rehearse", str(ground.desk.playbook), "--json")

    assert said.code == 0, said.err
    pid = ground.pid()
    assert pid != before
    assert machine.sh("cat", f"/proc/{pid}/oom_score_adj").stdout.strip() == "0"
    (ignored,) = re.findall(r"SigIgn:\s*(\w+)", machine.sh("cat", f"/proc/{pid}/status").stdout)
    assert not int(ignored, 16) & 1 << signal.SIGHUP - 1
    assert re.search(r"/system.slice/production-\d+\.scope", ground.group())
    assert "LC_ALL" not in machine.sh("cat", f"/proc/{pid}/environ").stdout


def test_models_that_were_loaded_are_loaded_again(tmp_path: Path, machine: Machine) -> None:
    """After production is healthy each warm model is asked for a token; one that gives none is noted, and no more."""
    machine.write("/opt/asking.py", ASKING)
    start_as_root(machine, ("/usr/bin/python3", "/opt/asking.py"))
    desk = Desk(tmp_path, machine)
    url = "http://127.0.0.1:8080/v1/chat/completions"
    section = {
        "manager": "command",
        "services": [managed.command_entry("prod", 8080)],
        "watchdogs": [],
        "warm": ["big", "gone", "small"],
        "healthy": {"url": url, "model": "tiny", "n": 2, "of": 2, "within": "20s"},
        "drain": None,
    }
    desk.write(production=section, markers={"raise": [], "respect": []})
    look = "import socket;socket.create_connection(('127.0.0.1',8080)).close()"
    until(lambda: machine.sh("/usr/bin/python3", "-c", look, check=False).returncode == 0, "production")

    said = desk.stager("rehearse", str(desk.playbook), "--json")

    assert said.code == 0, said.err
    assert machine.read(ASKED).split()[-5:] == ["tiny", "tiny", "big", "gone", "small"]
    journal = machine.read(f"{STATES['root']}/runs/{said.document['run_id']}/journal.jsonl")
    notes = [record for record in map(json.loads, journal.splitlines()) if record["step"] == "warm"]
    assert [(note["model"], note["why"][:10]) for note in notes] == [("big", ""), ("gone", "status 404"), ("small", "")]


def start_as_root(machine: Machine, argv: tuple[str, ...]) -> None:
    """Production by a script in root's hands."""
    managed.lay_control(machine, argv)
    machine.sh(*managed.control(machine, "start", "prod"))
