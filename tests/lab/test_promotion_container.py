"""Promotion where production is a container: the release link that its command goes through is switched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REQUIRED
from tests.lab.desk import Desk, Said
from tests.lab.managed import KINDS, ready_for_containers
from tests.lab.promoting import BROKEN, FIRST, LINK, TINY
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import SERVER

KIND = KINDS["podman"]


class Contained:
    """A host whose production is a podman container that runs what a release link leads to."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.machine = machine
        machine.copy(SERVER, f"{FIRST}/serve.py")
        machine.write(f"{FIRST}/run.py", TINY.format(slots=1, then=""))
        machine.path(LINK).symlink_to("releases/first")
        lay_container(machine)
        self.desk = Desk(folder, machine)
        self.server = folder / "playbooks" / "server"
        shutil.copy(SERVER, self.server / "serve.py")
        policy = {"stager": 1, "name": "quick", "claims": [{"probe": "truth", "claim": "answering", "min_samples": 2}]}
        (folder / "playbooks" / "policy.yaml").write_text(yaml.safe_dump(policy | {"max_age": "1d"}))
        self.release("")
        self.promotion({"link": LINK})
        until(lambda: self.slots() == 1, "production to answer", 30)

    def release(self, then: str) -> None:
        """Change the release at the desk: four slots, and what it does where it is started for production."""
        on_production = f"if '8080' in sys.argv:\n    {then}" if then else ""
        (self.server / "run.py").write_text(TINY.format(slots=4, then=on_production))

    def promotion(self, section: dict[str, Any]) -> None:
        """Write the playbook."""
        self.desk.write(
            candidate={
                "launch": ["/usr/bin/python3", "run.py", "--host", "{bind}", "--port", "{port}"],
                "stop": {"grace": "1s"},
                "limits": {"runtime": "2m"},
            },
            production={
                "manager": "podman",
                "services": ["prod"],
                "watchdogs": [],
                "healthy": {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "10s"},
            },
            markers={"raise": [], "respect": []},
            probes={"truth": {"rounds": 2}},
            policy="./policy.yaml",
            promotion={"healthy_for": "1s", "probes": {"truth": {"rounds": 2}}} | section,
        )

    def slots(self) -> int:
        """How many slots production says it has, the build's mark; 0 where it does not answer."""
        ask = "import json,urllib.request as u;d=json.load(u.urlopen('http://127.0.0.1:8080/health',timeout=5));"
        done = self.machine.sh("/usr/bin/python3", "-c", ask + "print(d['batch_limit'])", check=False)
        return int(done.stdout) if done.returncode == 0 else 0

    def link(self) -> str:
        """Where the link leads."""
        return str(self.machine.path(LINK).readlink())

    def shown(self) -> str:
        """Stage, verify and clean up this build; returns its name."""
        said = self.desk.stager("run", str(self.desk.playbook), "--json")
        assert said.code in (0, 6), said.err  # 6: more was measured than the policy asks for
        return str(said.document["build_id"])

    def promote(self, build: str) -> Said:
        """Promote a build."""
        return self.desk.stager("promote", build, "--playbook", str(self.desk.playbook), "--json")


def lay_container(machine: Machine) -> None:
    """One container on the host's own files, which starts in the folder that the link leads to."""
    ready_for_containers(machine)
    words = ("--name=prod", "--stop-timeout=1", f"--workdir={LINK}", "--rootfs", "/opt/image")
    machine.sh("podman", "create", *words, "/usr/bin/python3", "run.py", "--host", "0.0.0.0", "--port", "8080")
    machine.sh("podman", "start", "prod")


@pytest.fixture
def ground(tmp_path: Path, machines: Callable[..., list[Machine]]) -> Contained:
    """Such a host; where this machine lacks podman, that is said."""
    if absent := [name for name in KIND.needs if shutil.which(name) is None]:
        words = f"production by podman needs {', '.join(absent)} on this machine: see .ci/packages"
        pytest.fail(words) if REQUIRED else pytest.skip(words)
    return Contained(tmp_path, machines(1, **KIND.host)[0])


def test_a_container_goes_to_the_build_and_back(ground: Contained) -> None:
    """It runs the build, measured on production's own port, in the same container; a rollback goes back."""
    container = ground.machine.sh("podman", "container", "inspect", "--format", "{{.Id}}", "prod").stdout
    build = ground.shown()

    said = ground.promote(build)

    assert said.code == 0, said.err
    assert (said.document["verdict"], ground.slots()) == ("promoted", 4)
    assert ground.link().startswith("/var/lib/stager/trees/")
    back = ground.desk.stager("rollback", "--playbook", str(ground.desk.playbook), "--json")
    assert back.code == 0, back.err
    assert (ground.link(), ground.slots()) == ("releases/first", 1)
    assert ground.machine.sh("podman", "container", "inspect", "--format", "{{.Id}}", "prod").stdout == container


@pytest.mark.parametrize("how", ["exits", "never healthy", "is another build"])
def test_a_build_that_does_not_hold_in_the_container_goes_back(ground: Contained, how: str) -> None:
    """What was well on its own port and is not in production's container: the old build is back (5)."""
    ground.release(BROKEN[how])
    build = ground.shown()

    said = ground.promote(build)

    assert said.code == 5, said.err
    assert said.document["error"]["host_state"].startswith("restored; production as before")
    assert (ground.link(), ground.slots()) == ("releases/first", 1)
